/** Films of a report: every frame once, the worst one still, and nothing that needs a script. */
import assert from 'node:assert/strict';
import { drawFilm } from '../../src/report/film.js';
import { swapsOf } from '../../src/report/ribbon.js';

const frames = Array.from({ length: 5 }, (_, n) => ({
  name: `frame ${n + 1}`,
  reference: [{ id: '<1>', at: [10 * n, 0, 20, 40] as const, alone: n === 2 }],
  tracker: [{ id: 'a', at: [10 * n + 300, 100, 0, 0] as const, alone: true }],
}));

describe('film', () => {
  it('has every frame once, and shows the worst until it plays', () => {
    const { text } = drawFilm('film-1', frames, 2, 'what happens');
    assert.equal(text.match(/<g class="picture/g)!.length, 5);
    assert.deepEqual(
      text.match(/<input[^>]* checked>/g)!.map((button) => /aria-label="([^"]+)"/.exec(button)![1]),
      ['frame 3'],
    );
    assert.equal(text.match(/type="radio" name="film-1"/g)!.length, 6, 'one button for each frame, and one to play');
    assert.equal(text.match(/class="outline missed"/g)!.length, 1);
    assert.equal(text.match(/class="outline false"/g)!.length, 5);
    assert.ok(text.includes('truth &lt;1&gt;, missed') && !text.includes('<script'));
  });

  it('leaves out frames of a crowd, never the worst', () => {
    const crowd = frames.map((frame) => ({
      ...frame,
      reference: Array.from({ length: 2000 }, (_, n) => ({ id: String(n), at: [n, 0, 1, 1] as const, alone: false })),
    }));
    const { text } = drawFilm('film-2', crowd, 3, 'a crowd');
    assert.ok(text.match(/<g class="picture/g)!.length <= 3);
    assert.match(text, /class="step worst" aria-label="frame 4" [^>]* checked>/);
  });
});

describe('ribbon', () => {
  it('finds truths that exchange their tracks, and no other change', () => {
    const row = (truth: string, tracks: string[], segments: number[]) => ({ truth, tracks, segments, changes: 1 });
    const rows = [
      row('2', ['c2', 'c3'], [0, 20, 0, 21, 22, -1, 23, 50, 1]),
      row('3', ['c3', 'c2'], [0, 21, 0, 22, 50, 1]),
      row('4', ['c4', 'c9'], [0, 22, 0, 23, 50, 1]),
    ];
    assert.deepEqual(swapsOf(rows), [{ rows: [0, 1], frame: 23 }]);
  });
});
