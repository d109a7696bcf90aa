/** Feeds that publish only now and then, with time drawn as text: see kit/pairing.ts. */
import assert from 'node:assert/strict';
import type { Pairing } from '../../../src/stream/pairing/pairing.js';
import type { Outcome, Step } from '../../../src/stream/pairing/step.js';
import { type FeedPart, pack, unpack } from '../../../src/wire/objects.js';
import {
  box,
  expectSteps,
  newPairing,
  type Played,
  partAt,
  play,
  restored,
  START_MS,
  timedPart,
} from '../../kit/pairing.js';
import { pairingSettings } from '../../kit/settings.js';

/** `k:track` for every step: which part of the tracker each reference frame was judged with. */
const judgedWith = ({ outcomes }: Played | { outcomes: Outcome[] }) =>
  outcomes.filter((o): o is Step => o.type === 'step').map((s) => `${s.k}:${unpack(s.tracks)[0]?.id ?? '-'}`);

const lefts = ({ outcomes }: Played) =>
  outcomes.filter((o): o is Step => o.type === 'step').map((s) => unpack(s.tracks)[0]?.box?.[0] ?? null);

describe('a held tracker', () => {
  const held = { heldTrackers: ['t'] };

  it('is judged on every reference frame by what it last said, when it publishes every third one', () => {
    const played = play(
      { ...held, holdMaxFrames: 5 },
      `reference  1  2  3  4  5  6  7  .
       t          1  .  .  4  .  .  7  .`,
    );
    // frames 2 and 3 wait until frame 4 shows that the tracker had nothing to say about them
    expectSteps(played, '1  .  .  2,3,4  .  .  5,6,7  .');
    assert.deepEqual(judgedWith(played), ['1:o1', '2:o1', '3:o1', '4:o4', '5:o4', '6:o4', '7:o7']);
  });

  it('misses everything without being held, so the setting is what makes the difference', () => {
    const played = play(
      {},
      `reference  1  2  3  4  .
       t          1  .  .  4  .`,
    );
    assert.deepEqual(judgedWith(played), ['1:o1', '2:-', '3:-', '4:o4']);
  });

  it('is held no longer than holdMaxFrames, and misses from then on', () => {
    const played = play(
      { ...held, holdMaxFrames: 2 },
      `reference  1  2  3  4  5  6  .
       t          1  .  .  .  .  6  .`,
    );
    expectSteps(played, '1  .  .  .  .  2,3,4!,5!,6  .', ['5 gap t 6 x4', '5 missing t 4', '5 missing t 5']);
  });

  it('does not have to speak for a step to close: latenessMs is the longest wait', () => {
    const played = play(
      { ...held, holdMaxFrames: 10, latenessMs: 20 },
      `reference  1  2  3  4  .  .  .
       t          1  .  .  .  .  .  .`,
    );
    expectSteps(played, '1  .  .  2  3  4  .');
    assert.deepEqual(judgedWith(played), ['1:o1', '2:o1', '3:o1', '4:o1']);
  });

  it('says by an empty part that everything is gone', () => {
    const played = play(
      { ...held, holdMaxFrames: 10 },
      `reference  1  2  3  4  5  .
       t          1  .  3  .  5  .`,
      (k) => partAt(k, k === 3 ? { objects: pack([]) } : {}),
    );
    assert.deepEqual(judgedWith(played), ['1:o1', '2:o1', '3:-', '4:-', '5:o5']);
    assert.ok(!played.notes.some((note) => note.includes('missing')), 'it was there and said so');
  });

  it('may speak twice about the same frame: the last word counts while the frame is open', () => {
    const words = ['first', 'second'];
    const played = play(
      { ...held, latenessFrames: 0 },
      `reference  .  1  2
       t          1,1  .  2`,
      (k) => partAt(k, k === 1 ? { objects: pack([box(words.shift() ?? 'o1')]) } : {}),
    );
    // one of the three parts with number 1 is the reference's
    assert.deepEqual(judgedWith(played)[0], '1:second');
    assert.deepEqual(played.notes, []);
  });

  it('is held by time too, and needs no part at the time of the reference', () => {
    const played = play(
      { ...held, by: 'time', toleranceMs: 1, holdMaxMs: 40, latenessMs: 20 },
      `reference  0  1  2  3  4  5  6  7  8  .  .  .
       t          0  .  .  3  .  .  .  .  .  .  .  .`,
      timedPart,
    );
    // seen at 3, held for 4 columns, then missing
    assert.deepEqual(lefts(played), [0, 0, 0, 3, 3, 3, 3, 3, null]);
    assert.deepEqual(played.notes, ['10 missing t']);
  });

  it('publishes at times of its own, as cameras do on change', () => {
    const pairing = newPairing({ ...held, by: 'time', toleranceMs: 2, holdMaxMs: 10_000, latenessMs: 50 });
    pairing.openTracker('t', START_MS);
    const at = (ms: number): FeedPart => ({ seq: 1, t: (START_MS + ms) / 1000, objects: pack([box('a', ms)]) });
    const outcomes: Outcome[] = [];
    const events = [17, 63, 64, 251];
    for (let ms = 0; ms <= 400; ms++) {
      outcomes.push(...pairing.advance(START_MS + ms));
      if (ms % 40 === 0) outcomes.push(...pairing.push('reference', null, at(ms), START_MS + ms));
      if (events.includes(ms)) outcomes.push(...pairing.push('tracker', 't', at(ms), START_MS + ms));
    }
    outcomes.push(...pairing.advance(START_MS + 1000));
    const steps = outcomes.filter((o): o is Step => o.type === 'step');
    assert.deepEqual(
      steps.map((s) => unpack(s.tracks)[0]?.box?.[0] ?? null),
      [null, 17, 64, 64, 64, 64, 64, 251, 251, 251, 251],
    );
    assert.deepEqual(
      outcomes.filter((o) => o.type !== 'step').map((o) => o.type),
      ['missing'],
      'only the frame before its first message is missed; parts between two reference frames are no irregularity',
    );
  });

  it('is not silent while it is held, and is when its last word is too old', () => {
    const drawing = `reference  1  2  3  4  5  6  7  8  9  .
                     t          1  .  .  .  .  .  .  .  .  .`;
    const patient = play({ ...held, holdMaxFrames: 20, latenessMs: 10, silenceMs: 30 }, drawing);
    assert.deepEqual(patient.notes, []);
    const strict = play({ ...held, holdMaxFrames: 3, latenessMs: 10, silenceMs: 30 }, drawing);
    assert.deepEqual(
      strict.notes.filter((note) => note.endsWith('silent')),
      ['4 t silent'],
    );
  });

  it('leaves other trackers of the stream as they are', () => {
    const played = play(
      { ...held, holdMaxFrames: 5 },
      `reference  1  2  3  .
       t          1  .  3  .
       dense      1  .  3  .`,
    );
    assert.equal(played.rows['step t'], '1 . 2,3 .');
    assert.equal(played.rows['step dense'], '1 . 2!,3 .');
  });

  it('suspends judgement when more of it waits for the reference than bufferFrames', () => {
    const played = play(
      { ...held, bufferFrames: 2, holdMaxFrames: 1000 },
      `reference  .  .  .  .  .  1,2,3,4,5  .
       t          1  2  3  4  5  .  .`,
    );
    // nobody may say that the tracker missed what only we have forgotten
    assert.deepEqual(judgedWith(played), ['4:o4', '5:o5']);
    assert.deepEqual(
      played.notes.filter((note) => note.includes('late reference')),
      ['5 late reference 1', '5 late reference 2', '5 late reference 3'],
    );
  });

  it('goes on from a snapshot, wherever it is taken, and from one of a version that knew no held trackers', () => {
    const drawing = `reference  1  2  3  4  5  6  7  8  9  .  .  .
                     t          1  .  .  4  .  .  .  .  .  .  .  |`;
    const settings = { ...held, holdMaxFrames: 4, latenessMs: 20 };
    const again = (pairing: Pairing) => restored(pairing, settings);
    assert.deepEqual(play(settings, drawing, undefined, again).outcomes, play(settings, drawing).outcomes);
    const older = (pairing: Pairing) => {
      const state = JSON.parse(JSON.stringify(pairing));
      for (const lane of Object.values<{ sampled?: unknown }>(state.lanes)) delete lane.sampled;
      return restored(state);
    };
    assert.deepEqual(play({}, drawing, undefined, older).outcomes, play({}, drawing).outcomes);
  });

  it('may become one, and stop being one, while parts wait', () => {
    for (const [first, second] of [
      [{}, held],
      [held, {}],
    ]) {
      const pairing = newPairing(first);
      pairing.openTracker('t', START_MS);
      const outcomes = [1, 2].flatMap((k) => pairing.push('tracker', 't', partAt(k), START_MS));
      pairing.configure(pairingSettings(second));
      outcomes.push(...[1, 2, 3].flatMap((k) => pairing.push('reference', null, partAt(k), START_MS)));
      outcomes.push(...pairing.push('tracker', 't', partAt(3), START_MS));
      assert.deepEqual(judgedWith({ outcomes }), ['1:o1', '2:o2', '3:o3']);
      assert.equal(pairing.deadline(), START_MS + 5000, 'nothing waits any longer');
    }
  });
});

describe('a held reference by frame number', () => {
  it('speaks for the frames in between, as annotations of every third frame do', () => {
    const played = play(
      { reference: 'hold', holdMaxFrames: 5 },
      `reference  1  .  .  4  .  .  .
       t          1  2  3  4  5  .  .
      `,
    );
    expectSteps(played, '1  .  .  2,3,4  .  .  .');
    const references = played.outcomes
      .filter((o): o is Step => o.type === 'step')
      .map((s) => unpack(s.reference)[0].id);
    assert.deepEqual(references, ['o1', 'o1', 'o1', 'o4']);
  });

  it('is interpolated where asked', () => {
    const played = play(
      { reference: 'linear', holdMaxFrames: 5 },
      `reference  0  .  2
       t          0  1  2`,
      (k) => partAt(k, { objects: pack([box('a', 10 * k)]) }),
    );
    assert.deepEqual(
      played.outcomes.filter((o): o is Step => o.type === 'step').map((s) => unpack(s.reference)[0].box![0]),
      [0, 10, 20],
    );
  });

  it('does not hide what the tracker skipped, nor what it never answers', () => {
    const played = play(
      { reference: 'hold', holdMaxFrames: 5, latenessMs: 20 },
      `reference  1  2  3  4  .  .  .
       t          1  .  3  .  .  .  .`,
    );
    expectSteps(played, '1  .  2!,3  .  .  4!  .', ['2 gap t 3', '2 missing t 2', '5 missing t 4']);
  });

  it('leaves frames before the first word of the tracker alone', () => {
    const pairing = newPairing({ reference: 'hold', latenessMs: 100 });
    for (const k of [1, 2, 3]) pairing.push('reference', null, partAt(k), START_MS);
    const outcomes = pairing.openTracker('t', START_MS + 1);
    outcomes.push(...pairing.push('tracker', 't', partAt(3), START_MS + 2));
    outcomes.push(...pairing.advance(START_MS + 500));
    assert.deepEqual(judgedWith({ outcomes }), ['3:o3']);
  });

  it('suspends judgement when it is too old', () => {
    const played = play(
      { reference: 'hold', holdMaxFrames: 1, latenessMs: 10 },
      `reference  1  .  .  .  .
       t          1  2  3  .  .`,
    );
    expectSteps(played, '1  .  2  .  .', ['3 missing reference 3']);
  });
});
