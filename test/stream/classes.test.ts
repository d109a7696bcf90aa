/**
 * Classes kept apart live: pairs within a class only, under the names of the map, and what each class costs and counts
 * adds up to what has settled, also over snapshots; the classes that are counted are bounded.
 */
import assert from 'node:assert/strict';
import type { ClassTotals } from '../../src/wire/events.js';
import { pack, type WireObject } from '../../src/wire/objects.js';
import { randomFrom } from '../kit/random.js';
import { NAME, StreamRun } from '../kit/stream-run.js';
import { skipInFastRun } from '../kit/system/system.js';

const FRAMES = 60;

const config = (classes: object, coverage: object = {}, scores: object = {}) => ({
  profiles: { plain: { distance: 'euclidean', cutoff: 4, exponent: 2, switchPenalty: 2 } },
  streams: { [NAME]: { profiles: ['plain'], windowFrames: 20, classes, coverage, scores } },
});

/** Six objects of three classes that cross; the tracker says `auto` for cars, and now and then another class. */
function sceneAt(k: number, random: () => number): { reference: WireObject[]; tracker: WireObject[] } {
  const names = ['car', 'person', 'bus'];
  const places = names.flatMap((name, n) => [
    { id: `${name}-1`, class: name, point: [k % 20, n] },
    { id: `${name}-2`, class: name, point: [20 - (k % 20), n] },
  ]);
  const tracker = places.flatMap((one): WireObject[] => {
    if (random() < 0.1) return [];
    const wrong = random() < 0.1;
    const kind = wrong ? 'person' : one.class === 'car' ? 'auto' : one.class;
    const id = random() < 0.03 ? `new-${one.id}` : `k-${one.id}`;
    return [{ id, class: kind, point: [one.point[0] + random(), one.point[1] + random()] }];
  });
  return { reference: places, tracker };
}

function runOf(settings: object, cutEvery?: number): StreamRun {
  const run = new StreamRun(settings, cutEvery);
  const random = randomFrom(5);
  run.open('reference', null, 0);
  run.open('tracker', 'one', 0);
  for (let k = 1; k <= FRAMES; k++) {
    const { reference, tracker } = sceneAt(k, random);
    run.part('reference', null, k, { k, objects: pack(reference) });
    run.part('tracker', 'one', k, { k, objects: pack(tracker) });
  }
  run.end('reference', null, FRAMES);
  run.end('tracker', 'one', FRAMES);
  return run;
}

function assertAddsUp(classes: ClassTotals, run: StreamRun): void {
  const { settled } = run.reports.at(-1)!.report;
  for (const key of ['proper', 'missed', 'false', 'switches'] as const)
    assert.equal(
      sum(classes, ({ count }) => count[key]),
      settled.count[key],
      key,
    );
  for (const key of ['localization', 'missed', 'false', 'switch'] as const)
    assert.ok(Math.abs(sum(classes, ({ cost }) => cost[key]) - settled.cost[key]) < 1e-9 * settled.cost.total, key);
}

const sum = (classes: ClassTotals, value: (total: ClassTotals[string]) => number) =>
  Object.values(classes).reduce((total, one) => total + value(one), 0);

describe('classes that are kept apart', () => {
  const apart = { apart: true, map: { auto: 'car' } };

  it('cost and count what has settled, class by class', () => {
    const run = runOf(config(apart));
    const { classes } = run.reports.at(-1)!;
    assert.deepEqual(Object.keys(classes!).sort(), ['bus', 'car', 'person']);
    assertAddsUp(classes!, run);
    const { proper, missed } = classes!.bus.count;
    assert.equal(proper + missed, 2 * FRAMES);
    assert.ok(classes!.person.count.false > 0);
    assert.deepEqual(run.stream.info().series[0].classes, classes);
    assert.deepEqual(run.stream.reports()[0].classes, classes);
  });

  it('are not pairs, which they are otherwise', function () {
    skipInFastRun(this);
    const together = runOf(config({ map: { auto: 'car' } }));
    assert.equal(together.reports.at(-1)!.classes, undefined);
    assert.ok(together.count.proper > runOf(config(apart)).count.proper);
    const unmapped = runOf(config({ apart: true })).reports.at(-1)!.classes!;
    assert.equal(unmapped.car.count.proper, 0);
    assert.equal(unmapped.car.count.missed, 2 * FRAMES);
    assert.ok(unmapped.auto.count.false > FRAMES);
  });

  it('add up where not everything is judged', () => {
    const run = runOf(config(apart, { reference: 'coverage', regions: [{ polygon: [[2, -9], [15, -9], [15, 9], [2, 9]] }] })); // biome-ignore format: a polygon
    assertAddsUp(run.reports.at(-1)!.classes!, run);
    assert.ok(run.count.missed < runOf(config(apart)).count.missed);
  });

  it('are the same over snapshots', () => {
    const whole = runOf(config(apart));
    const cut = runOf(config(apart), 7);
    assert.deepEqual(cut.reports.at(-1)!.classes, whole.reports.at(-1)!.classes);
    assert.deepEqual(cut.count, whole.count);
  });

  it('are counted together beyond a limit', () => {
    const run = runOf(config({ ...apart, namesMax: 1 }));
    const { classes } = run.reports.at(-1)!;
    assert.deepEqual(Object.keys(classes!).sort(), ['car', 'other']);
    assertAddsUp(classes!, run);
  });
});

describe('classes that never agree', () => {
  const apart = { apart: true, map: { auto: 'car' } };

  function judged(
    classes: object,
    classOf: (name: string | undefined) => string | undefined,
    scores: object = {},
  ): StreamRun {
    const run = new StreamRun(config(classes, {}, scores));
    const random = randomFrom(5);
    run.open('reference', null, 0);
    run.open('tracker', 'one', 0);
    for (let k = 1; k <= FRAMES; k++) {
      const { reference, tracker } = sceneAt(k, random);
      const renamed = tracker.map(({ class: name, ...one }): WireObject => {
        const other = classOf(name);
        return other === undefined ? one : { ...one, class: other };
      });
      run.part('reference', null, k, { k, objects: pack(reference) });
      run.part('tracker', 'one', k, { k, objects: pack(renamed) });
    }
    return run;
  }

  const findings = (run: StreamRun) => run.stream.info().findings;

  it('count for companion scores too where they are kept apart', () => {
    const scoresOf = (classes: object) => {
      const run = judged(classes, (name) => (name === 'bus' ? 'coach' : name), { enabled: true, strideFrames: 20 });
      return run.reports.flatMap(({ scores }) => scores ?? []).at(-1)!.values;
    };
    const [together, apartly] = [scoresOf({ apart: false }), scoresOf(apart)];
    // a third of the objects have no pair any more
    for (const name of ['HOTA', 'MOTA', 'IDF1'])
      assert.ok(apartly[name] < together[name] - 0.15, `${name} ${together[name]} ${apartly[name]}`);
  });

  it('are a finding where a feed has none, with what to do', () => {
    const run = judged(apart, () => undefined);
    const [{ finding, remedy, message }] = findings(run);
    assert.equal(finding, 'classes_never_match');
    assert.match(message, /without a class/);
    assert.match(remedy, /send the class of every object in both feeds, or set classes\.apart to false/);
    assert.equal(run.reports.at(-1)!.report.count.proper, 0);
  });

  it('are one where one name of several differs', () => {
    const [{ finding, remedy }] = findings(judged(apart, (name) => (name === 'bus' ? 'coach' : name)));
    assert.equal(finding, 'classes_never_match');
    assert.match(remedy, /set classes\.map to \{coach: bus\}/);
  });

  it('are none where they agree mostly, nor where classes do not matter', () => {
    assert.deepEqual(findings(judged(apart, (name) => name)), []);
    assert.deepEqual(findings(judged({ apart: false }, () => undefined)), []);
  });
});
