/**
 * What a real Prometheus, with the shipped rules for several processes, sees of a takeover: an owner is killed, another
 * process goes on with its streams, and counters go on where they were; nobody is charged for feeds that came through a
 * process that died. Durations of the rules are shortened.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RULES } from '../../../dashboards/prometheus/cluster-rules.js';
import { readRules, rulesOf, shortened } from '../../kit/alert-rules.js';
import { skipUnlessNats } from '../../kit/system/brokers/nats.js';
import { Chaos, type Witness } from '../../kit/system/chaos.js';
import { Monitoring } from '../../kit/system/monitoring.js';
import { hasProgram, skipUnless, until } from '../../kit/system/system.js';

const FPS = 20;
/** some in each of two partitions */
const STREAMS = 6;
/** of so many frames of a tracker one lacks an object */
const UNSEEN_EVERY = 9;
/** Everything that rules put together before they take rates. */
const COUNTERS = rulesOf(readRules(RULES.cluster)).flatMap(({ record }) =>
  record && /^cluster:\w+_total:max$/.test(record) ? [record] : [],
);

interface History {
  metric: Record<string, string>;
  values: Array<[seconds: number, value: string]>;
}

class Prometheus implements Witness {
  monitoring: Monitoring | null = null;
  addresses: string[] = [];
  /** from then on processes die */
  #calmMs = 0;

  constructor(readonly folder: string) {}

  async begin(addresses: string[]): Promise<void> {
    this.addresses = addresses;
    const rules = shortened(readRules(RULES.cluster), 60, { waits: 8, ranges: 5 });
    this.monitoring = await Monitoring.start(this.folder, addresses, rules);
  }

  async #counted(): Promise<number[]> {
    const samples = await this.monitoring!.query('sort(cluster:tgospa_frames_total:max)');
    return samples.map(({ value }) => value);
  }

  /** There is a past that rates can be compared with. */
  async calm(): Promise<void> {
    await this.#goesOn([]);
    this.#calmMs ||= Date.now();
  }

  /** It has seen a stream at both of its owners. */
  async taken(): Promise<void> {
    await until('a stream has moved', async () => this.#moved(await this.#history('tgospa_frames_total')).length > 0);
  }

  async #goesOn(before: number[]): Promise<void> {
    const least = Math.max(0, ...before) + 6 * FPS;
    await until('every series goes on', async () => {
      const counted = await this.#counted();
      return counted.length === STREAMS && counted.every((frames) => frames > least);
    });
  }

  async end(): Promise<void> {
    await this.#goesOn(await this.#counted());
    await this.#checkCounters();
    await this.#checkMisses();
  }

  /** What was first scraped of a stream at an owner who was not its first. */
  #moved(byInstance: History[]): History[] {
    return byInstance.filter(({ metric, values }) =>
      byInstance.some(
        (other) =>
          other.metric.stream === metric.stream &&
          other.metric.instance !== metric.instance &&
          other.values[0][0] < values[0][0],
      ),
    );
  }

  async #history(expr: string): Promise<History[]> {
    return (await this.monitoring!.history(expr, '30m')) as unknown as History[];
  }

  async #checkCounters(): Promise<void> {
    assert.ok(COUNTERS.includes('cluster:tgospa_frames_total:max') && COUNTERS.length > 4, `${COUNTERS}`);
    for (const record of COUNTERS)
      for (const { metric, values } of await this.#history(record)) {
        const numbers = values.map(([, value]) => Number(value));
        const at = numbers.findIndex((value, n) => n > 0 && value < numbers[n - 1]);
        assert.equal(at, -1, `${record} of ${metric.stream} falls from ${numbers[at - 1]} to ${numbers[at]}`);
      }
    // by instance: some stream has moved, and its new owner began where the old one had been
    const byInstance = await this.#history('tgospa_frames_total');
    const moved = this.#moved(byInstance);
    assert.ok(moved.length > 0, 'no stream has moved: this run shows nothing');
    // and whoever had it before does not go on telling of it
    await until('every stream has one owner', async () => {
      const owners = await this.monitoring!.query('count by (stream) (tgospa_frames_total)');
      return owners.length === STREAMS && owners.every(({ value }) => value === 1);
    });
    for (const { metric, values } of moved) assert.ok(Number(values[0][1]) > FPS, `${metric.stream} began anew`);
  }

  /**
   * Since processes die, as much was missed at every moment as the scene leaves out, and nobody was told of a tracker.
   * What came before is the start of five programs on a busy machine, where a first frame may be late.
   */
  async #checkMisses(): Promise<void> {
    // samples of one scrape are of one moment; rules that are worked out one after the other need not be
    const misses = await this.#history('tgospa_missed_total');
    const frames = await this.#history('tgospa_frames_total');
    const streams = new Map<string, Array<{ seconds: number; missed: number; judged: number }>>();
    for (const { metric, values } of misses) {
      const { values: judged } = frames.find(
        (one) => one.metric.stream === metric.stream && one.metric.instance === metric.instance,
      )!;
      const framesAt = new Map(judged);
      const samples = values.map(([seconds, missed]) => {
        return { seconds, missed: Number(missed), judged: Number(framesAt.get(seconds)) };
      });
      streams.set(metric.stream, [...(streams.get(metric.stream) ?? []), ...samples]);
    }
    assert.equal(streams.size, STREAMS);
    for (const [stream, samples] of streams) {
      samples.sort((a, b) => a.seconds - b.seconds);
      const calm = samples.findLastIndex(({ seconds }) => 1000 * seconds <= this.#calmMs);
      assert.ok(calm >= 0 && calm < samples.length - 1, `${stream}: samples before the first death, and after`);
      const before = samples[calm];
      const history = samples.map(({ missed, judged }) => `${missed}/${judged}`).join(' ');
      for (const { missed, judged } of samples.slice(calm))
        assert.ok(
          missed - before.missed <= Math.max(0, judged - before.judged) / UNSEEN_EVERY + 1,
          `${stream}: one frame of ${UNSEEN_EVERY} lacks an object; missed and judged, from sample ${calm} on: ${history}`,
        );
    }
    const told = (await this.monitoring!.fired()).filter((alert) => /^(Tracker|Reference|Feed|Stream)/.test(alert));
    assert.deepEqual(told, [], 'nothing is wrong with any tracker');
    const answer = await fetch(`http://${this.addresses[0]}/v1/events?limit=10000`);
    const { events } = (await answer.json()) as { events: Array<{ type: string; atMs: number }> };
    const wrong = events.filter(
      ({ type, atMs }) => atMs > this.#calmMs && ['missing', 'late', 'silence', 'spike', 'incident'].includes(type),
    );
    assert.deepEqual(wrong, [], 'nobody pays for a process that died');
  }
}

describe('a takeover, seen by Prometheus', () => {
  it('leaves counters monotone and rates as they are, and tells of no spike', async function () {
    skipUnlessNats(this);
    skipUnless(this, hasProgram('prometheus'), 'prometheus is needed; Debian: apt-get install prometheus');
    const alerts = hasProgram('prometheus-alertmanager');
    skipUnless(this, alerts, 'alertmanager is needed; Debian: apt-get install prometheus-alertmanager');
    const folder = mkdtempSync(join(tmpdir(), 'tgospa-takeover-'));
    const witness = new Prometheus(folder);
    try {
      const plan = {
        seed: 5,
        evaluators: 2,
        gateways: 1,
        brokers: 1,
        streams: STREAMS,
        fps: FPS,
        partitions: 2,
      } as const;
      const times = { calmMs: 100, renewMs: 300, expiryMs: 1200, cutMs: 0 };
      const { takeovers } = await new Chaos(
        { ...plan, ...times, troubles: ['kill', 'gateway'] },
        () => {},
        witness,
      ).run();
      assert.ok(takeovers.length > 0);
    } finally {
      await witness.monitoring?.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
