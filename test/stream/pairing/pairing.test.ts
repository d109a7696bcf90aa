/** Pairing, with time drawn as text: see kit/pairing.ts. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { PairingSettings } from '../../../src/config/config.js';
import type { Outcome, Step } from '../../../src/stream/pairing/step.js';
import type { Irregularity } from '../../../src/wire/events.js';
import type { Role } from '../../../src/wire/feed.js';
import { type FeedPart, pack, unpack } from '../../../src/wire/objects.js';
import {
  box,
  COLUMN_MS,
  expectSteps,
  newPairing,
  type Played,
  partAt,
  play,
  restored,
  START_MS,
  squeeze,
  stepText,
  timedPart,
} from '../../kit/pairing.js';

const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n);

describe('pairing by frame number', () => {
  it('closes a step when both feeds have delivered it', () => {
    const played = play(
      {},
      `reference  1  .  2  3  .  .
       t          .  1  .  2  .  3`,
    );
    expectSteps(played, '.  1  .  2  .  3');
    const [step] = played.outcomes as Step[];
    assert.deepEqual(step, {
      type: 'step',
      tracker: 't',
      k: 1,
      reference: pack([box('o1')]),
      tracks: pack([box('o1')]),
      receivedMs: START_MS + 10,
    });
  });

  it('judges a frame that the tracker skipped with no tracks, at once', () => {
    const played = play(
      {},
      `reference  1  .  2  .  3
       t          .  1  .  .  3`,
    );
    expectSteps(played, '.  1  .  .  2!,3', ['4 gap t 3', '4 missing t 2']);
    const steps = played.outcomes.filter((outcome) => outcome.type === 'step');
    assert.deepEqual(
      steps.map(({ receivedMs }) => (receivedMs - START_MS) / COLUMN_MS),
      [1, 4, 4],
    );
  });

  it('waits for a slow tracker for latenessMs, then judges without it and calls its parts late', () => {
    const played = play(
      { latenessMs: 30 },
      `reference  1  2  3  .  .  .  .
       t          .  .  1  .  .  .  2`,
    );
    expectSteps(played, '.  .  1  .  2!  3!  .', ['4 missing t 2', '5 missing t 3', '6 late t 2']);
    const late = played.outcomes.find((o) => o.type === 'late') as Irregularity;
    assert.equal(
      late.message,
      'frame 2 of the tracker t arrived after its step was closed; raise pairing.latenessMs (now 30) or pairing.latenessFrames (now 0) to accept it',
    );
  });

  it('does not judge frames that the reference lacks', () => {
    const played = play(
      {},
      `reference  1  .  .  4  .
       t          1  2  3  4  .`,
    );
    expectSteps(played, '1  .  .  4  .', ['3 gap reference 4 x2', '3 missing reference 2', '3 missing reference 3']);
  });

  it('judges nothing while the reference is silent, and says so', () => {
    const played = play(
      { latenessMs: 20, silenceMs: 50 },
      `reference  1  .  .  .  .  .  .  .  8
       t          1  2  3  4  5  6  7  8  .`,
    );
    expectSteps(played, '1  .  .  .  .  .  .  .  8', [
      '3 missing reference 2',
      '4 missing reference 3',
      '5 missing reference 4',
      '5 reference silent',
      '6 missing reference 5',
      '7 missing reference 6',
      '8 missing reference 7',
      '8 reference heard again',
      '8 gap reference 8 x6',
    ]);
  });

  it('calls a reference frame late that let its tracks wait for too long', () => {
    const played = play(
      { latenessMs: 20 },
      `reference  1  .  .  .  2  3  .
       t          1  2  .  .  .  3  .`,
    );
    expectSteps(played, '1  .  .  .  .  3  .', ['3 missing reference 2', '4 late reference 2']);
  });

  it('lets a silent tracker miss everything, and says when it is silent and when it is heard again', () => {
    const played = play(
      { latenessMs: 10, silenceMs: 40 },
      `reference  1  2  3  4  5  6  7  8  .
       t          1  .  .  .  .  .  .  8  .`,
    );
    expectSteps(played, '1  .  2!  3!  4!  5!  6!  7!,8  .', [
      '2 missing t 2',
      '3 missing t 3',
      '4 missing t 4',
      '4 t silent',
      '5 missing t 5',
      '6 missing t 6',
      '7 missing t 7',
      '7 t heard again',
      '7 gap t 8 x6',
    ]);
  });

  it('finds no silence by a tick that is older than what it has heard of the reference', () => {
    const pairing = newPairing({ latenessMs: 100, silenceMs: 40 });
    pairing.openReference(START_MS);
    pairing.openTracker('t', START_MS);
    for (const k of [1, 2, 3, 4, 5, 6]) pairing.push('reference', null, partAt(k), START_MS + k * COLUMN_MS);
    // it was due when nobody was silent, and was stored behind what the reference sent meanwhile
    assert.deepEqual(pairing.advance(START_MS + 2 * COLUMN_MS), []);
    pairing.push('tracker', 't', partAt(1), START_MS + 6 * COLUMN_MS);
    assert.deepEqual(pairing.advance(START_MS + 6 * COLUMN_MS), []);
  });

  it('finds no silence in a tracker while the reference rests too', () => {
    const played = play(
      { silenceMs: 40 },
      `reference  1  .  .  .  .  .  .  .  2
       t          1  .  .  .  .  .  .  .  2`,
    );
    assert.deepEqual(played.notes, ['4 reference silent', '8 reference heard again']);
  });

  it('keeps trackers apart: a slow one does not hold up another', () => {
    const played = play(
      { latenessMs: 100 },
      `reference  1  2  3  .  .  .
       fast       1  2  3  .  .  .
       slow       .  .  .  1  2  3`,
    );
    assert.equal(played.rows['step fast'], squeeze('1  2  3  .  .  .'));
    assert.equal(played.rows['step slow'], squeeze('.  .  .  1  2  3'));
  });

  it('counts a duplicate once, while its step is open and after it was closed', () => {
    const played = play(
      {},
      `reference  1  2  2  .  1
       t          1  .  .  2  2`,
    );
    expectSteps(played, '1  .  .  2  .', ['2 duplicate reference 2', '4 duplicate reference 1', '4 duplicate t 2']);
  });

  it('accepts parts overtaken by up to latenessFrames others', () => {
    const drawing = `reference  1  2  3  4  5  6  .
                     t          2  1  3  5  4  6  7`;
    expectSteps(play({ latenessFrames: 1 }, drawing), '.  1,2  3  .  4,5  6  .', []);
    const strict = play({ latenessFrames: 0 }, drawing);
    assert.ok(strict.notes.includes('1 late t 1') || strict.notes.includes('1 missing t 1'));
  });

  it('closes the oldest step when more parts wait than bufferFrames', () => {
    const played = play(
      { bufferFrames: 3, latenessMs: 1000 },
      `reference  1  2  3  4  5  .
       t          .  .  .  .  .  1,2,3,4,5`,
    );
    expectSteps(played, '.  .  .  1!  2!  3,4,5', ['3 missing t 1', '4 missing t 2', '5 late t 1', '5 late t 2']);
  });

  it('waits for nobody who has ended, and judges an ended tracker up to its last frame', () => {
    const played = play(
      {},
      `reference  1  2  3  4  5  |
       t          1  .  3  |  .  .`,
    );
    expectSteps(played, '1  .  2!,3  .  .  .', ['2 gap t 3', '2 missing t 2', '3 finished t']);
  });

  it('pairs what is still to come from the reference after the tracker has ended', () => {
    const played = play(
      {},
      `reference  .  .  1  2  3  4
       t          1,2,3  |  .  .  .  .`,
    );
    expectSteps(played, '.  .  1  2  3  .', ['4 finished t']);
  });

  it('closes everything when all feeds have ended', () => {
    const played = play(
      { latenessFrames: 2 },
      `reference  1  2  3  |  .
       t          1  2  .  .  |`,
    );
    expectSteps(played, '.  .  .  .  1,2', ['4 finished t']);
  });

  it('takes nothing from a feed that has ended', () => {
    const played = play(
      { latenessMs: 50 },
      `reference  1  2  .
       t          1  |  2`,
    );
    expectSteps(played, '1  .  .', ['1 finished t']);
    const reference = play(
      {},
      `reference  1  |  2
       t          1  .  2`,
    );
    expectSteps(reference, '1  .  .', ['2 late reference 2', '2 missing reference 2']);
  });

  it('begins anew when a tracker says hello after its end', () => {
    const { pairing } = play(
      {},
      `reference  1  2  .
       t          1  2  |`,
    );
    const now = START_MS + 100;
    assert.deepEqual(pairing.openTracker('t', now), []);
    pairing.push('reference', null, partAt(3), now);
    const [step] = pairing.push('tracker', 't', partAt(3), now) as Step[];
    assert.equal(step.k, 3);
  });

  it('keeps reference frames for the first tracker, which is judged from its own first frame on', () => {
    const pairing = newPairing({ latenessMs: 100 });
    for (const k of [1, 2, 3, 4]) assert.deepEqual(pairing.push('reference', null, partAt(k), START_MS + k), []);
    pairing.openTracker('t', START_MS + 10);
    const steps = [3, 4].flatMap((k) => pairing.push('tracker', 't', partAt(k), START_MS + 10 + k)) as Step[];
    assert.deepEqual(
      steps.map((s) => s.k),
      [3, 4],
    );
    assert.deepEqual(pairing.advance(START_MS + 1000), []);
  });

  for (const [when, first, second] of [
    ['before the reference speaks', 0, 3],
    ['while it speaks', 3, 6],
    ['just within the lateness', 3, 12],
  ] as const)
    it(`keeps reference frames for trackers that follow a first one ${when}, without a gap`, () => {
      let pairing = newPairing({ latenessMs: 100 });
      const outcomes: Outcome[] = [];
      for (let k = 1; k <= 20; k++) {
        const now = START_MS + 10 * k;
        if (k - 1 === first) outcomes.push(...pairing.openTracker('a', now));
        if (k - 1 === second) outcomes.push(...pairing.openTracker('b', now));
        outcomes.push(...pairing.push('reference', null, partAt(k), now));
        if (k > first) outcomes.push(...pairing.push('tracker', 'a', partAt(k), now));
        // it begins a little behind
        if (k > second) outcomes.push(...pairing.push('tracker', 'b', partAt(k - 2), now));
        pairing = restored(pairing.toJSON(), { latenessMs: 100 });
      }
      for (const k of [19, 20]) outcomes.push(...pairing.push('tracker', 'b', partAt(k), START_MS + 201));
      const steps = (name: string) =>
        outcomes.flatMap((one) => (one.type === 'step' && one.tracker === name ? [one.k] : []));
      assert.deepEqual(steps('a'), numbers(first + 1, 20));
      assert.deepEqual(steps('b'), numbers(second - 1, 20));
      assert.deepEqual(
        outcomes.filter(({ type }) => type !== 'step'),
        [],
      );
    });

  it('finds no gap in the reference of a tracker that comes long after the first one, and keeps nothing for it', () => {
    const pairing = newPairing({ latenessMs: 100 });
    const outcomes: Outcome[] = [];
    for (let k = 1; k <= 40; k++) {
      const now = START_MS + 10 * k;
      if (k === 3) pairing.openTracker('a', now);
      if (k === 30) outcomes.push(...pairing.openTracker('b', now));
      outcomes.push(...pairing.push('reference', null, partAt(k), now));
      if (k >= 3) outcomes.push(...pairing.push('tracker', 'a', partAt(k), now));
      if (k >= 30) outcomes.push(...pairing.push('tracker', 'b', partAt(k), now));
      if (k === 29) assert.deepEqual(pairing.toJSON().early, []);
    }
    assert.ok(outcomes.every(({ type }) => type === 'step'));
    assert.equal(outcomes.length, 38 + 11);
  });

  it('does not wait for numbers on a part that has none', () => {
    const pairing = newPairing();
    pairing.openTracker('t', START_MS);
    pairing.push('reference', null, partAt(1), START_MS);
    pairing.push('tracker', 't', partAt(1), START_MS);
    const [outcome] = pairing.push('tracker', 't', { seq: 2, t: 1, objects: pack([]) }, START_MS) as Irregularity[];
    assert.equal(outcome.type, 'late');
    assert.match(outcome.message, /has no frame number, but the stream is paired by frame; send k, or set pairing\.by/);
  });
});

describe('pairing when numbers jump', () => {
  const settings = { restartFrames: 100, latenessMs: 100 };

  for (const [who, drawing, steps] of [
    [
      'the reference first',
      `reference  900  901  1    2  .    .    3
       t          900  .    .    .  901  1,2  3`,
      '900 . . . 901 1,2 3',
    ],
    [
      'the tracker first',
      `reference  900  .    .    .  901  1,2  3
       t          900  901  1    2  .    .    3`,
      '900 . . . 901 1,2 3',
    ],
    [
      'both at once',
      `reference  900  901  1  2  3
       t          900  901  1  2  3`,
      '900 901 1 2 3',
    ],
  ]) {
    it(`follows a restart of the numbering, ${who}`, () => {
      const played = play(settings, drawing);
      assert.equal(played.rows['step t'], steps);
      assert.deepEqual(played.notes.map((n) => n.slice(2)).sort(), ['gap reference 1 x0', 'gap t 1 x0']);
    });
  }

  it('follows restart after restart', () => {
    const loops = Array.from({ length: 30 }, () => '1,150,300').join(' ');
    const played = play(settings, `reference ${loops}\nt ${loops}`);
    assert.equal(played.outcomes.filter((o) => o.type === 'step' && o.tracks.ids.length > 0).length, 90);
  });

  it('takes a step back within restartFrames for a late part', () => {
    const played = play(
      settings,
      `reference  50  51  52
       t          50  51  52,7`,
    );
    expectSteps(played, '50 51 52', ['2 late t 7']);
  });

  for (const wrong of [7, 9_000_000]) {
    it(`gets over one wrong number of a tracker, ${wrong} after 901`, () => {
      const played = play(
        settings,
        `reference  900  901  902       903  904
         t          900  901  ${wrong}  903  904`,
      );
      assert.equal(played.rows['step t'], '900 901 . 902!,903 904');
    });
  }

  it('gets over one wrong number of the reference', () => {
    const played = play(
      { ...settings, latenessMs: 10 },
      `reference  900  901  9000000  903  904  905  906
       t          900  901  902      903  904  905  906`,
    );
    const judged = played.outcomes.filter((o): o is Step => o.type === 'step' && o.tracks.ids.length > 0);
    assert.deepEqual(
      judged.map((s) => s.k).filter((k) => k >= 904),
      [904, 905, 906],
    );
  });

  it('judges a tracker that restarts alone as missing, until the reference restarts too', () => {
    const played = play(
      { ...settings, latenessMs: 20 },
      `reference  900  901  902  903  3  4  5
       t          900  1    2    3    4  5  .`,
    );
    assert.equal(played.rows['step t'], '900 . 901!,902! 903! 3 4 5');
  });

  it('follows a tracker that is behind by more than restartFrames at a restart', () => {
    const played = play(
      { ...settings, latenessMs: 1000 },
      `reference  900  901  1,2  301  302  .    .
       t          900  .    .    .    .    901  1,2,301,302`,
    );
    assert.equal(played.rows['step t'], '900 . . . . 901 1,2,301,302');
  });

  it('begins again when numbers grow beyond what can be counted', () => {
    const huge = 2 ** 52;
    const played = play(
      settings,
      `reference  ${huge}  1  2
       t          ${huge}  1  2`,
    );
    const steps = played.outcomes.filter((o): o is Step => o.type === 'step');
    assert.equal(steps.at(-1)!.k, 2);
    assert.equal(steps.at(-1)!.tracks.ids.length, 1);
  });

  it('restarts below restartFrames when a feed said hello again after its end', () => {
    const { pairing } = play(
      {},
      `reference  1  2  3  |
       t          1  2  3  |`,
    );
    const now = START_MS + 100;
    pairing.openReference(now);
    pairing.openTracker('t', now);
    const outcomes = [1, 2, 3].flatMap((k) => [
      ...pairing.push('reference', null, partAt(k), now),
      ...pairing.push('tracker', 't', partAt(k), now),
    ]);
    assert.deepEqual(
      outcomes.filter((o) => o.type === 'step').map((o) => o.k),
      [1, 2, 3],
    );
  });
});

describe('pairing by time', () => {
  const numbers = (played: Played) =>
    played.outcomes
      .filter((o): o is Step => o.type === 'step')
      .map((s) => [Math.round((s.t! * 1000 - START_MS) / COLUMN_MS), s.reference.ids.length, s.tracks.ids.length]);

  it('joins parts within the tolerance and numbers the steps', () => {
    const pairing = newPairing({ toleranceMs: 5 });
    pairing.openTracker('t', START_MS);
    const at = (ms: number): FeedPart => ({ seq: 1, t: (START_MS + ms) / 1000, objects: pack([box('a', ms)]) });
    const outcomes = [
      ...pairing.push('reference', null, at(0), START_MS),
      ...pairing.push('tracker', 't', at(4), START_MS + 5),
      ...pairing.push('reference', null, at(33), START_MS + 33),
      ...pairing.push('tracker', 't', at(40), START_MS + 40),
      ...pairing.push('reference', null, at(66), START_MS + 66),
      ...pairing.push('tracker', 't', at(66), START_MS + 67),
    ];
    assert.deepEqual(
      outcomes.map((o) =>
        o.type === 'step' ? [o.k, o.t, o.tracks.ids.length] : `${o.type} ${(o as Irregularity).role}`,
      ),
      [
        [1, START_MS / 1000, 1],
        'missing tracker',
        [2, (START_MS + 33) / 1000, 0],
        'missing reference',
        [3, (START_MS + 66) / 1000, 1],
      ],
    );
  });

  it('goes by arrival when parts have no time', () => {
    const pairing = newPairing({ by: 'time', toleranceMs: 5 });
    pairing.openTracker('t', START_MS);
    pairing.push('reference', null, partAt(7), START_MS);
    const [step] = pairing.push('tracker', 't', partAt(9), START_MS + 3) as Step[];
    assert.equal(step.k, 7);
  });

  it('takes to time when the tracker turns out to have no frame numbers', () => {
    const pairing = newPairing({ latenessMs: 50 });
    pairing.openTracker('t', START_MS);
    const steps: Outcome[] = [];
    const reference = (n: number) =>
      steps.push(...pairing.push('reference', null, { ...timedPart(n), k: n }, START_MS + n * 10));
    reference(0);
    steps.push(...pairing.advance(START_MS + 50));
    reference(6);
    steps.push(...pairing.push('tracker', 't', timedPart(6), START_MS + 65));
    assert.deepEqual(steps.filter((o): o is Step => o.type === 'step').map(stepText), ['0!', '6']);
  });

  it('holds the reference up to holdMaxMs', () => {
    const played = play(
      { reference: 'hold', holdMaxMs: 40, toleranceMs: 1, latenessMs: 20 },
      `reference  0  .  .  .  .  5  .  .  .
       t          0  1  2  3  4  5  6  .  .`,
      timedPart,
    );
    // nothing newer can come once the reference has gone past, or the wait is over
    assert.deepEqual(numbers(played), [
      [0, 1, 1],
      [1, 1, 1],
      [2, 1, 1],
      [3, 1, 1],
      [4, 1, 1],
      [5, 1, 1],
      [6, 1, 1],
    ]);
    const lefts = played.outcomes
      .filter((o): o is Step => o.type === 'step')
      .map((s) => unpack(s.reference)[0].box![0]);
    assert.deepEqual(lefts, [0, 0, 0, 0, 0, 5, 5]);
  });

  it('suspends judgement when the held reference is too old', () => {
    const played = play(
      { reference: 'hold', holdMaxMs: 20, toleranceMs: 1, latenessMs: 10 },
      `reference  0  .  .  .  .  .
       t          0  1  2  3  .  .`,
      timedPart,
    );
    assert.deepEqual(numbers(played), [
      [0, 1, 1],
      [1, 1, 1],
      [2, 1, 1],
    ]);
    assert.deepEqual(played.notes, ['4 missing reference']);
  });

  it('interpolates objects that both neighbours have, and holds the others', () => {
    const pairing = newPairing({ reference: 'linear', toleranceMs: 0, latenessMs: 1000 });
    pairing.openTracker('t', START_MS);
    pairing.push('reference', null, timedPart(0, [box('a', 0), box('gone', 7)]), START_MS);
    assert.deepEqual(pairing.push('tracker', 't', timedPart(1), START_MS + 10), []);
    const [step] = pairing.push(
      'reference',
      null,
      timedPart(4, [box('a', 40), box('new', 1)]),
      START_MS + 40,
    ) as Step[];
    assert.deepEqual(unpack(step.reference), [box('a', 10), box('gone', 7)]);
  });

  it('interpolates across the 180th meridian the short way', () => {
    const pairing = newPairing({ reference: 'linear', toleranceMs: 0 }, true);
    pairing.openTracker('t', START_MS);
    const ship = (longitude: number) => [{ id: 's', point: [10, longitude] }];
    pairing.push('reference', null, timedPart(0, ship(179)), START_MS);
    pairing.push('tracker', 't', timedPart(3, ship(0)), START_MS + 30);
    const [step] = pairing.push('reference', null, timedPart(4, ship(-179)), START_MS + 40) as Step[];
    assert.deepEqual(unpack(step.reference)[0].point, [10, -179.5]);
  });

  it('falls back to holding when the next reference does not come', () => {
    const played = play(
      { reference: 'linear', toleranceMs: 1, latenessMs: 20 },
      `reference  0  .  .  .
       t          .  1  .  .`,
      timedPart,
    );
    expectSteps(played, '.  .  .  1');
    assert.equal(unpack((played.outcomes[0] as Step).reference)[0].box![0], 0);
  });

  it('lets a silent tracker miss every reference frame since it was last heard', () => {
    const played = play(
      { reference: 'hold', toleranceMs: 1, latenessMs: 10, silenceMs: 50 },
      `reference  0  .  2  .  4  .  6  .  8  .  .
       t          0  1  .  .  .  .  .  .  .  9  .`,
      timedPart,
    );
    assert.deepEqual(numbers(played), [
      [0, 1, 1],
      [1, 1, 1],
      [2, 1, 0],
      [4, 1, 0],
      [6, 1, 0],
      [8, 1, 0],
      [9, 1, 1],
    ]);
    assert.deepEqual(
      played.notes.filter((n) => n.includes('t silent') || n.includes('t heard')),
      ['6 t silent', '9 t heard again'],
    );
  });

  it('uses a reference that is late for its own step for the steps to come', () => {
    const played = play(
      { reference: 'hold', toleranceMs: 1, latenessMs: 10, holdMaxMs: 1000 },
      `reference  0  .  .  .  2  .  .
       t          0  1  2  3  4  5  .`,
      timedPart,
    );
    const lefts = played.outcomes
      .filter((o): o is Step => o.type === 'step')
      .map((s) => unpack(s.reference)[0].box![0]);
    assert.deepEqual(lefts, [0, 0, 0, 0, 2, 2]);
    assert.deepEqual(played.notes, ['4 late reference']);
  });

  it('gets over a clock that was set back, in both feeds or in one', () => {
    const settings = { restartMs: 1000, toleranceMs: 1, latenessMs: 50, silenceMs: 1e6 };
    const both = play(
      settings,
      `reference  500  501  0  1  .  .
       t          500  .    .  501  0  1`,
      timedPart,
    );
    assert.equal(both.outcomes.filter((o) => o.type === 'step' && o.tracks.ids.length > 0).length, 4);
    const one = play(
      settings,
      `reference  500  501  502  503  504
       t          500  501  0    503  504`,
      timedPart,
    );
    assert.deepEqual(
      numbers(one).map(([column, , tracks]) => `${column}${tracks ? '' : '!'}`),
      ['500', '501', '502!', '503', '504'],
    );
  });
});

/** Arrivals of one feed: numbers in order, each with a delay below the limit. */
interface Arrival {
  feed: string;
  part: FeedPart;
  atMs: number;
}

const LATENESS_MS = 200;
const SEED = 20261116;

function runArrivals(settings: Partial<PairingSettings>, trackers: string[], arrivals: Arrival[], breaks = false) {
  let pairing = newPairing(settings);
  const out: Outcome[] = [...pairing.openReference(0), ...trackers.flatMap((t) => pairing.openTracker(t, 0))];
  for (const { feed, part, atMs } of [...arrivals].sort((a, b) => a.atMs - b.atMs)) {
    for (let due = pairing.deadline(); due <= atMs; due = pairing.deadline()) {
      out.push(...pairing.advance(due));
      assert.ok(pairing.deadline() > due, 'a deadline that has passed is gone');
    }
    out.push(...pairing.push(feed === 'reference' ? 'reference' : 'tracker', feed, part, atMs));
    if (breaks) pairing = restored(pairing, settings);
  }
  out.push(...pairing.end('reference', null, 1e9), ...trackers.flatMap((t) => pairing.end('tracker', t, 1e9)));
  return out;
}

const stepsOf = (outcomes: Outcome[], tracker: string) =>
  outcomes
    .filter((o): o is Step => o.type === 'step' && o.tracker === tracker)
    .map(({ k, t, reference, tracks }) => ({ k, t, reference, tracks }));

/** Feeds that deliver a random subset of 40 steps at random moments within the lateness of each other. */
const scene = (overtake: number) =>
  fc
    .record({
      trackers: fc.integer({ min: 1, max: 3 }),
      present: fc.array(fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 4, maxLength: 4 }), {
        minLength: 8,
        maxLength: 40,
      }),
      delays: fc.array(fc.integer({ min: 0, max: overtake > 0 ? 80 : LATENESS_MS - 21 }), {
        minLength: 16,
        maxLength: 16,
      }),
      swaps: fc.array(fc.boolean(), { minLength: 16, maxLength: 16 }),
    })
    .map(({ trackers, present, delays, swaps }) => {
      const names = Array.from({ length: trackers }, (_, n) => `t${n}`);
      const build = (spread: boolean) => {
        const arrivals: Arrival[] = [];
        ['reference', ...names].forEach((feed, f) => {
          let last = 0;
          let own: Arrival[] = [];
          present.forEach((row, step) => {
            if (row[f] === 0) return;
            const delay = spread ? delays[(step * 4 + f * 7) % delays.length] : 0;
            last = Math.max(last + 0.01, step * 20 + delay);
            const part: FeedPart = {
              seq: step + 1,
              k: step,
              t: step * 0.02 + f * 0.001,
              objects: pack([box(`${feed}${step}`)]),
            };
            own.push({ feed, part, atMs: last });
          });
          if (spread && overtake > 0) own = overtaken(own, swaps);
          arrivals.push(...own);
        });
        return arrivals;
      };
      return { names, together: build(false), spread: build(true) };
    });

/** Exchanges some neighbouring frames. */
function overtaken(list: Arrival[], swaps: boolean[]): Arrival[] {
  const parts = list.map((a) => a.part);
  for (let n = 0; n + 1 < parts.length; n += 2)
    if (swaps[(n / 2) % swaps.length] && parts[n + 1].k === parts[n].k! + 1)
      [parts[n], parts[n + 1]] = [parts[n + 1], parts[n]];
  return list.map((a, n) => ({ ...a, part: parts[n] }));
}

describe('pairing, whatever the order of arrival', () => {
  const variants: Array<[string, Partial<PairingSettings>, number]> = [
    ['by frame', {}, 0],
    ['by frame, with parts that overtake each other', { latenessFrames: 1 }, 1],
    ['by time', { by: 'time', toleranceMs: 5 }, 0],
    ['by time, with parts that overtake each other', { by: 'time', toleranceMs: 5, latenessFrames: 1 }, 1],
    ['by time, with a held reference', { by: 'time', toleranceMs: 0, reference: 'hold', holdMaxMs: 100 }, 0],
    ['by frame, with a held reference', { reference: 'hold', holdMaxFrames: 3 }, 0],
    ['by frame, with a held tracker', { heldTrackers: ['*'], holdMaxFrames: 3 }, 0],
    ['by frame, with one held tracker of three', { heldTrackers: ['t1'], holdMaxFrames: 5, latenessFrames: 1 }, 1],
    ['by time, with a held tracker', { by: 'time', toleranceMs: 0, heldTrackers: ['*'], holdMaxMs: 100 }, 0],
    ['by time, with an interpolated reference', { by: 'time', toleranceMs: 0, reference: 'linear', holdMaxMs: 100 }, 0],
  ];
  for (const [name, own, overtake] of variants) {
    const settings: Partial<PairingSettings> = { latenessMs: LATENESS_MS, silenceMs: 1e8, ...own };

    it(`gives the same steps ${name}`, () => {
      fc.assert(
        fc.property(scene(overtake), ({ names, together, spread }) => {
          const calm = runArrivals(settings, names, together);
          const wild = runArrivals(settings, names, spread);
          for (const tracker of names) assert.deepEqual(stepsOf(wild, tracker), stepsOf(calm, tracker));
        }),
        { seed: SEED, numRuns: 150 },
      );
    });

    it(`goes on from a snapshot as if there had been no break, ${name}`, () => {
      fc.assert(
        fc.property(scene(overtake), ({ names, spread }) => {
          assert.deepEqual(runArrivals(settings, names, spread, true), runArrivals(settings, names, spread));
        }),
        { seed: SEED, numRuns: 25 },
      );
    });
  }

  it('keeps its promises on any input at all: bounded, in order, deadlines that pass', () => {
    const event = fc.record({
      feed: fc.constantFrom('reference', 't0', 't1'),
      k: fc.option(fc.oneof(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 2 ** 40 })), { nil: undefined }),
      t: fc.option(fc.oneof(fc.integer({ min: 0, max: 20 }), fc.double({ min: 0, max: 1e10, noNaN: true })), {
        nil: undefined,
      }),
      waitMs: fc.integer({ min: 0, max: 80 }),
      end: fc.integer({ min: 0, max: 30 }),
    });
    const settings = fc.record({
      by: fc.constantFrom<PairingSettings['by']>('auto', 'frame', 'time'),
      reference: fc.constantFrom<PairingSettings['reference']>('exact', 'hold', 'linear'),
      latenessFrames: fc.integer({ min: 0, max: 2 }),
      latenessMs: fc.integer({ min: 0, max: 100 }),
      silenceMs: fc.integer({ min: 1, max: 200 }),
      bufferFrames: fc.integer({ min: 1, max: 6 }),
      restartFrames: fc.integer({ min: 2, max: 20 }),
      heldTrackers: fc.constantFrom<string[]>([], [], ['t1'], ['*']),
      holdMaxFrames: fc.integer({ min: 0, max: 20 }),
    });
    fc.assert(
      fc.property(settings, fc.array(event, { maxLength: 60 }), (chosen, events) => {
        const pairing = newPairing(chosen);
        pairing.openTracker('t0', 0);
        pairing.openTracker('t1', 0);
        let now = 0;
        const check = (outcomes: Outcome[]) => {
          for (const o of outcomes) assert.ok(o.type !== 'step' || Number.isFinite(o.k));
        };
        for (const { feed, k, t, waitMs, end } of events) {
          now += waitMs;
          for (let due = pairing.deadline(), n = 0; due <= now; due = pairing.deadline(), n++) {
            check(pairing.advance(due));
            assert.ok(n < 100, 'deadlines make progress');
          }
          const role: Role = feed === 'reference' ? 'reference' : 'tracker';
          if (end === 0) check(pairing.end(role, feed, now));
          else if (end === 1) check(role === 'reference' ? pairing.openReference(now) : pairing.openTracker(feed, now));
          else
            check(
              pairing.push(
                role,
                feed,
                { seq: 1, ...(k === undefined ? {} : { k }), ...(t === undefined ? {} : { t }), objects: pack([]) },
                now,
              ),
            );
          const { lanes } = pairing.toJSON();
          for (const lane of Object.values(lanes)) {
            const most = chosen.bufferFrames * (lane.resuming ? 2 : 1) + 1;
            assert.ok(lane.reference.pending.length + lane.tracker.pending.length <= most);
            assert.ok(lane.history.length <= most && lane.undecided.length <= most);
            assert.ok(Object.keys(lane.offsets).length <= 6);
          }
        }
      }),
      { seed: SEED, numRuns: 500 },
    );
  });

  it('has no deadline at which nothing happens, also when a late number waits beside a sampled reference', () => {
    const pairing = newPairing({
      reference: 'linear',
      latenessFrames: 1,
      latenessMs: 2,
      holdMaxFrames: 0,
      silenceMs: 1,
    });
    pairing.openTracker('t', 0);
    pairing.push('reference', null, partAt(16), 0);
    pairing.push('tracker', 't', partAt(16), 1);
    const passed: number[] = [];
    for (let due = pairing.deadline(); due < 10; due = pairing.deadline()) {
      pairing.advance(due);
      assert.ok(pairing.deadline() > due, `deadline ${due} comes again`);
      passed.push(due);
    }
    assert.ok(passed.includes(3), `${passed}`);
  });

  it('counts the time the evaluator was away for nobody', () => {
    const pairing = newPairing({ latenessMs: 100, silenceMs: 500 });
    pairing.openTracker('t', START_MS);
    pairing.push('reference', null, partAt(1), START_MS);
    pairing.push('tracker', 't', partAt(1), START_MS);
    pairing.push('reference', null, partAt(2), START_MS + 10);
    const back = START_MS + 60_000;
    pairing.resume(back);
    assert.deepEqual(pairing.advance(back + 80), []);
    assert.deepEqual(
      pairing.push('tracker', 't', partAt(2), back + 90).map((o) => o.type),
      ['step'],
    );
  });
});
