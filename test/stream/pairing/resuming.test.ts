/** Feeds that come back after an interruption, truth that comes too late, and numbers that are out of line. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { PairingSettings } from '../../../src/config/config.js';
import type { Pairing } from '../../../src/stream/pairing/pairing.js';
import type { Outcome, Step } from '../../../src/stream/pairing/step.js';
import type { Irregularity } from '../../../src/wire/events.js';
import { newPairing, partAt, START_MS, stepText } from '../../kit/pairing.js';

const SEED = 20261117;

/** A pairing with a clock of its own, which lets deadlines pass as a ticker would. */
class Scene {
  readonly outcomes: Outcome[] = [];
  nowMs = START_MS;
  pairing: Pairing;

  constructor(settings: Partial<PairingSettings> = {}, trackers = ['t']) {
    this.pairing = newPairing(settings);
    this.outcomes.push(...this.pairing.openReference(this.nowMs));
    for (const tracker of trackers) this.outcomes.push(...this.pairing.openTracker(tracker, this.nowMs));
  }

  passes(ms: number): void {
    const untilMs = this.nowMs + ms;
    for (let due = this.pairing.deadline(); due <= untilMs; due = this.pairing.deadline()) {
      this.outcomes.push(...this.pairing.advance(due));
      assert.ok(this.pairing.deadline() > due, 'a deadline that has passed is gone');
    }
    this.nowMs = untilMs;
  }

  reference(...numbers: number[]): void {
    for (const k of numbers) this.outcomes.push(...this.pairing.push('reference', null, partAt(k), this.nowMs));
  }

  tracker(...numbers: number[]): void {
    for (const k of numbers) this.outcomes.push(...this.pairing.push('tracker', 't', partAt(k), this.nowMs));
  }

  cut(role: 'reference' | 'tracker'): void {
    this.outcomes.push(...this.pairing.cut(role, role === 'tracker' ? 't' : null, this.nowMs));
  }

  get steps(): string[] {
    return this.outcomes.filter((o): o is Step => o.type === 'step').map(stepText);
  }

  get missed(): number {
    return this.steps.filter((step) => step.endsWith('!')).length;
  }

  irregularities(type: Irregularity['type']): Irregularity[] {
    return this.outcomes.filter((o): o is Irregularity => o.type === type);
  }
}

const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, n) => first + n);
const plain = (first: number, last: number) => range(first, last).map(String);

describe('a feed that was cut off', () => {
  it('is waited for: a tracker that is back within resumeMs has missed nothing', () => {
    const scene = new Scene();
    scene.reference(1);
    scene.tracker(1);
    scene.cut('tracker');
    for (const k of range(2, 81)) {
      scene.passes(100);
      scene.reference(k);
    }
    assert.equal(scene.pairing.resuming, true);
    scene.tracker(...range(2, 81));
    assert.deepEqual(scene.steps, plain(1, 81));
    scene.passes(1000);
    assert.equal(scene.pairing.resuming, false);
    assert.deepEqual(
      scene.outcomes.filter(({ type }) => type !== 'step' && type !== 'silence'),
      [],
    );
  });

  it('has the time it needs to send everything again, as long as it does', () => {
    const scene = new Scene({ resumeMs: 20_000 });
    scene.reference(1);
    scene.tracker(1);
    scene.cut('tracker');
    for (const k of range(2, 101)) {
      scene.passes(100);
      scene.reference(k);
    }
    // twelve frames in the time in which ten more come: it takes fifty seconds
    let sent = 1;
    for (const k of range(102, 650)) {
      scene.passes(100);
      scene.reference(k);
      while (sent < Math.min(k, 1 + (k - 101) * 1.2)) scene.tracker(++sent);
    }
    scene.passes(2000);
    assert.deepEqual(scene.steps, plain(1, 650));
    assert.equal(scene.pairing.resuming, false);
    assert.deepEqual([scene.irregularities('late'), scene.irregularities('missing')], [[], []]);
  });

  it('is waited for no longer when it stops in the middle of that', () => {
    const scene = new Scene({ resumeMs: 20_000, latenessMs: 2000 });
    scene.reference(1);
    scene.tracker(1);
    scene.cut('tracker');
    for (const k of range(2, 150)) {
      scene.passes(100);
      scene.reference(k);
    }
    for (const k of range(151, 400)) {
      scene.passes(100);
      scene.reference(k);
      scene.tracker(k - 149);
    }
    assert.equal(scene.pairing.resuming, true);
    for (const k of range(401, 450)) {
      scene.passes(100);
      scene.reference(k);
    }
    assert.equal(scene.pairing.resuming, false);
    assert.ok(scene.missed > 100, `${scene.missed} missed`);
  });

  it('is waited for no longer than before where nothing moves, even if nothing is ever late', () => {
    const scene = new Scene({ resumeMs: 20_000, latenessMs: 1e7, silenceMs: 1e7 });
    scene.reference(1);
    scene.tracker(1);
    scene.reference(...range(2, 9));
    scene.cut('tracker');
    scene.passes(6_000_000);
    scene.cut('tracker');
    scene.passes(500);
    scene.tracker(2);
    assert.equal(scene.pairing.resuming, true);
    scene.passes(31_000);
    assert.equal(scene.pairing.resuming, false);
  });

  it('has missed everything when it is not back by then, and is silent', () => {
    const scene = new Scene({ resumeMs: 20_000 });
    scene.reference(1);
    scene.tracker(1);
    scene.cut('tracker');
    for (const k of range(2, 220)) {
      scene.passes(100);
      scene.reference(k);
    }
    scene.passes(100);
    assert.equal(scene.pairing.resuming, false);
    assert.ok(scene.missed > 190, `${scene.missed} of 219 so far; the rest is not due yet`);
    assert.ok(scene.outcomes.some((o) => o.type === 'silence' && o.tracker === 't'));
  });

  it('is not waited for when it ended, or was silent before, or resumeMs is 0', () => {
    const ended = new Scene();
    ended.outcomes.push(...ended.pairing.end('tracker', 't', ended.nowMs));
    ended.cut('tracker');
    assert.equal(ended.pairing.resuming, false);
    const never = new Scene({ resumeMs: 0 });
    never.cut('tracker');
    assert.equal(never.pairing.resuming, false);
    const silent = new Scene({ latenessMs: 100, silenceMs: 500 });
    silent.reference(1);
    silent.tracker(1);
    for (const k of range(2, 12)) {
      silent.passes(100);
      silent.reference(k);
    }
    silent.cut('tracker');
    assert.equal(silent.pairing.resuming, false);
    assert.ok(silent.missed > 5);
  });

  it('a reference: the frames of the tracker wait for it, and are judged', () => {
    const scene = new Scene();
    scene.reference(1);
    scene.tracker(1);
    scene.cut('reference');
    for (const k of range(2, 100)) {
      scene.passes(100);
      scene.tracker(k);
    }
    scene.reference(...range(2, 100));
    assert.deepEqual(scene.steps, plain(1, 100));
    assert.deepEqual(scene.irregularities('missing'), []);
    assert.ok(!scene.outcomes.some(({ type }) => type === 'silence'));
  });

  it('holds back who is ahead of it at half of bufferFrames, until it has caught up', () => {
    const scene = new Scene({ bufferFrames: 20 });
    scene.reference(1);
    scene.tracker(1);
    scene.cut('tracker');
    scene.reference(...range(2, 10));
    assert.equal(scene.pairing.isAhead(null), false);
    scene.reference(11);
    assert.equal(scene.pairing.isAhead(null), true);
    assert.equal(scene.pairing.isAhead('t'), false);
    // what was on its way is not lost
    scene.reference(...range(12, 40));
    scene.tracker(...range(2, 40));
    assert.equal(scene.pairing.isAhead(null), false);
    assert.deepEqual(scene.steps, plain(1, 40));
  });

  it('waits no longer for one that is cut again and again', () => {
    const scene = new Scene({ resumeMs: 5000 });
    scene.reference(1);
    scene.tracker(1);
    for (const k of range(2, 80)) {
      scene.cut('tracker');
      scene.passes(100);
      scene.reference(k);
    }
    assert.ok(scene.missed > 20, `${scene.missed}`);
  });

  it('goes on after a resume in either direction of the clock, and nothing got older', () => {
    for (const jumpMs of [3_600_000, -3_600_000]) {
      const scene = new Scene();
      scene.reference(1, 2, 3);
      scene.tracker(1);
      scene.passes(1500);
      scene.nowMs += jumpMs;
      scene.pairing.resume(scene.nowMs);
      scene.passes(8000);
      scene.reference(...range(4, 80));
      scene.passes(5000);
      scene.tracker(...range(2, 80));
      assert.deepEqual(scene.steps, plain(1, 80), `${jumpMs}`);
      scene.passes(3000);
      scene.reference(81);
      scene.passes(5000);
      assert.deepEqual(scene.steps.slice(-1), ['81!'], 'and lateness counts again');
    }
  });

  it('gives the same steps whoever is cut, whenever, within the limits', () => {
    const outage = fc.record({
      role: fc.constantFrom('reference' as const, 'tracker' as const, 'both' as const),
      at: fc.integer({ min: 2, max: 60 }),
      outages: fc.array(fc.integer({ min: 1, max: 150 }), { minLength: 2, maxLength: 2 }),
      batch: fc.integer({ min: 10, max: 40 }),
    });
    fc.assert(
      fc.property(outage, ({ role, at, outages, batch }) => {
        const scene = new Scene();
        const held: Record<'reference' | 'tracker', number[]> = { reference: [], tracker: [] };
        const roles = role === 'both' ? (['reference', 'tracker'] as const) : [role];
        for (let k = 1; k <= 260; k++) {
          scene.passes(100);
          if (k === at) {
            for (const one of roles) scene.cut(one);
            if (role === 'both') scene.pairing.resume(scene.nowMs);
          }
          for (const [n, one] of (['reference', 'tracker'] as const).entries()) {
            held[one].push(k);
            const isAway = (role === 'both' || role === one) && k >= at && k < at + outages[n];
            if (!isAway) scene[one](...held[one].splice(0, batch));
          }
        }
        for (const one of ['reference', 'tracker'] as const) scene[one](...held[one]);
        assert.deepEqual(scene.steps, plain(1, 260));
        assert.deepEqual(
          [...scene.irregularities('late'), ...scene.irregularities('missing'), ...scene.irregularities('gap')],
          [],
        );
      }),
      { seed: SEED, numRuns: 100 },
    );
  });
});

describe('truth that comes too late', () => {
  for (const delayMs of [0, 10, 500, 1999, 2000, 2001, 5000, 60_000])
    it(`is not charged to a tracker that was first, after ${delayMs} ms`, () => {
      const scene = new Scene();
      for (const k of range(1, 2000)) {
        scene.passes(1);
        scene.tracker(k);
      }
      scene.passes(delayMs);
      scene.reference(...range(1, 2000));
      scene.passes(100_000);
      assert.equal(scene.missed, 0);
      const late = scene.irregularities('late');
      assert.equal(scene.steps.length + late.length, 2000);
      if (late.length > 0)
        assert.match(late[0].message, /came too late: .* it is not judged; raise pairing\.latenessMs/);
    });

  it('in another numbering says nothing about this one', () => {
    const scene = new Scene({ latenessMs: 100 });
    scene.reference(900);
    scene.tracker(900, 1, 2, 3);
    scene.passes(200);
    // the tracker restarted alone: what the reference says is missed
    scene.reference(901, 902);
    scene.passes(200);
    assert.deepEqual(scene.steps, ['900', '901!', '902!']);
  });
});

describe('a number out of line', () => {
  for (const wrong of [0, 4000, 4970 - 101, 9_000_000])
    it(`of the reference costs one frame, ${wrong} instead of 5030`, () => {
      const scene = new Scene();
      for (const k of range(5000, 5600)) {
        scene.passes(33);
        scene.reference(k === 5030 ? wrong : k);
        scene.tracker(k);
      }
      assert.equal(scene.missed, 0);
      assert.deepEqual(scene.steps, [...plain(5000, 5029), ...plain(5031, 5600)]);
      assert.match(scene.irregularities('gap')[0].message, /is out of line with .* it was set aside$/);
    });

  it('costs at most one frame, in either feed, wherever it is', () => {
    const property = fc.record({
      role: fc.constantFrom('reference' as const, 'tracker' as const),
      at: fc.integer({ min: 2, max: 78 }),
      wrong: fc.oneof(fc.integer({ min: 0, max: 800 }), fc.integer({ min: 1200, max: 2 ** 40 })),
      lag: fc.integer({ min: 0, max: 20 }),
    });
    fc.assert(
      fc.property(property, ({ role, at, wrong, lag }) => {
        const scene = new Scene();
        for (let n = 0; n < 80 + lag; n++) {
          scene.passes(33);
          const number = (one: string, m: number) => (one === role && m === at ? wrong : 1000 + m);
          if (n < 80) scene.reference(number('reference', n));
          if (n >= lag) scene.tracker(number('tracker', n - lag));
        }
        const judged = scene.steps.filter((step) => !step.endsWith('!'));
        assert.equal(judged.length, 79);
        assert.ok(scene.missed <= 1);
      }),
      { seed: SEED, numRuns: 300 },
    );
  });

  it('several in a row cost the frames near them, and nothing more', () => {
    const property = fc.record({
      role: fc.constantFrom('reference' as const, 'tracker' as const),
      at: fc.integer({ min: 2, max: 60 }),
      wrong: fc.array(fc.oneof(fc.integer({ min: 0, max: 800 }), fc.integer({ min: 1500, max: 100_000 })), {
        minLength: 1,
        maxLength: 4,
      }),
    });
    fc.assert(
      fc.property(property, ({ role, at, wrong }) => {
        const scene = new Scene({ latenessMs: 500 });
        for (let n = 0; n < 300; n++) {
          scene.passes(33);
          const number = (one: string) => (one === role ? (wrong[n - at] ?? 1000 + n) : 1000 + n);
          scene.reference(number('reference'));
          scene.tracker(number('tracker'));
        }
        assert.deepEqual(scene.steps.slice(-150), plain(1150, 1299));
      }),
      { seed: SEED, numRuns: 300 },
    );
  });
});

describe('reference frames from before the first tracker', () => {
  it('go to every tracker that comes within latenessMs', () => {
    const scene = new Scene({ latenessMs: 1000 }, []);
    scene.reference(1, 2, 3);
    const steps: string[] = [];
    for (const tracker of ['a', 'b', 'c']) {
      scene.passes(400);
      scene.pairing.openTracker(tracker, scene.nowMs);
      const outcomes = [2, 3].flatMap((k) => scene.pairing.push('tracker', tracker, partAt(k), scene.nowMs));
      steps.push(`${tracker} ${outcomes.filter((o): o is Step => o.type === 'step').map(stepText)}`);
    }
    assert.deepEqual(steps, ['a 2,3', 'b 2,3', 'c ']);
  });
});
