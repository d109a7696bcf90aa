import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';
import { STYLE } from '../../src/report/style.js';
import { TRACK_COLOURS, trackColour } from '../../src/report/track-colour.js';

const css = readFileSync(new URL('../../../src/page/style.css', import.meta.url), 'utf8');
const colour = (text: string, name: string) =>
  [...text.matchAll(new RegExp(`--${name}: (#\\w+);`, 'g'))].map((m) => m[1]);

describe('colours', () => {
  it('of components, reference and tracker are the same on the page and in reports, light and dark', () => {
    for (const name of ['localization', 'missed', 'false', 'switch', 'reference', 'tracker']) {
      const [light, dark] = colour(STYLE, name);
      const [pageLight, ...pageDark] = colour(css, name);
      assert.deepEqual([pageLight, ...new Set(pageDark)], [light, dark], name);
    }
  });

  it('of tracks come from their ids alone, and neighbours rarely share one', () => {
    const used = new Map<number, number>();
    for (let id = 1; id <= 1000; id++) {
      const at = trackColour(String(id));
      assert.equal(at, trackColour(`${id}`));
      used.set(at, (used.get(at) ?? 0) + 1);
    }
    assert.equal(used.size, TRACK_COLOURS.length);
    assert.ok(Math.max(...used.values()) < 100, JSON.stringify([...used]));
    const equal = Array.from({ length: 999 }, (_, n) => trackColour(String(n)) === trackColour(String(n + 1)));
    assert.ok(equal.filter(Boolean).length < 70, 'of neighbours');
  });

  it('of tracks differ where their numbers follow each other, wherever these stand', () => {
    for (const name of [(n: number) => `${n}`, (n: number) => `c${n}/2`, (n: number) => `cam7-${n}`])
      for (let n = 1; n <= 200; n++)
        for (let next = 1; next < TRACK_COLOURS.length; next++)
          assert.notEqual(trackColour(name(n)), trackColour(name(n + next)), `${name(n)} and ${name(n + next)}`);
  });
});
