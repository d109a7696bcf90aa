/** Random bit flips in the files of a small data folder: a start equals the undamaged one, or names the damage. */
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../src/config/config.js';
import { Live } from '../../src/live/live.js';
import { pack } from '../../src/wire/objects.js';
import { feed, quiet, START_MS, TestClock } from '../kit/live.js';
import { randomFrom } from '../kit/random.js';
import { skipInFastRun } from '../kit/system/system.js';

const FLIPS = Number(process.env.TGOSPA_TEST_FLIPS ?? 60);
const SEED = 16;
const STREAMS = ['a', 'b', 'c'];

describe('a data folder with a flipped bit', () => {
  let dir: string;
  const original = () => join(dir, 'original');

  const open = async (folder: string, errors: string[] = [], snapshotFrames = 20): Promise<Live> => {
    const settings = {
      data: { dir: folder, groupCommitMs: 0, snapshotFrames },
      evaluation: { budgetMs: 60_000 },
      streams: { defaults: { windowFrames: 10, pairing: { latenessMs: 1e7, silenceMs: 1e7 } } },
    };
    const { config } = readConfig({ text: JSON.stringify(settings), env: {} });
    return Live.open(config, new TestClock(), { ...quiet, error: (event) => errors.push(event) });
  };

  async function send(live: Live, first: number, last: number): Promise<void> {
    for (let k = first; k <= last; k++)
      for (const stream of STREAMS)
        for (const id of [feed(stream), feed(stream, 't')]) {
          const name = id.tracker === null || k % 17 === 0 ? 'x' : 'y';
          const objects = pack([{ id: `${name}${k % 5}`, box: [k, 0, 30, 60] }]);
          await live.ingest(id, { seq: k, k, objects }, START_MS + k);
        }
  }

  /** Everything that is recovered. */
  async function stateOf(live: Live): Promise<string> {
    const windows = STREAMS.map((stream) => live.window(stream, 't', 'online-surveillance'));
    const state = { streams: live.streams(), windows: await Promise.all(windows), events: live.recentEvents() };
    return JSON.stringify(state, (key, value) => (['solveMs', 'spikes'].includes(key) ? undefined : value));
  }

  const isTable = (name: string) => /\.(ldb|log)$/.test(name);

  before(async () => {
    dir = mkdtempSync(join(tmpdir(), 'tgospa-flips-'));
    const first = await open(original());
    for (const stream of STREAMS) for (const id of [feed(stream), feed(stream, 't')]) first.openFeed(id);
    await send(first, 1, 45);
    await first.kill();
    // what was in the journal of LevelDB goes to a table now, what follows to a new journal
    const second = await open(original());
    await send(second, 46, 60);
    await second.kill();
  });
  after(() => rmSync(dir, { recursive: true, force: true }));

  it('starts as if nothing had happened, or says what is damaged', async function () {
    skipInFastRun(this);
    const copy = (name: string) => {
      cpSync(original(), join(dir, name), { recursive: true });
      return join(dir, name);
    };
    const whole = await open(copy('whole'));
    const expected = await stateOf(whole);
    assert.deepEqual(whole.log.damage, []);
    await whole.kill();
    const random = randomFrom(SEED);
    const counts = { equal: 0, named: 0, refused: 0 };
    for (let flip = 0; flip < FLIPS; flip++) {
      const folder = copy('flipped');
      const files = readdirSync(join(folder, 'store')).filter(isTable);
      const sizes = files.map((name) => statSync(join(folder, 'store', name)).size);
      let at = Math.floor(random() * sizes.reduce((sum, size) => sum + size));
      const bit = 1 << Math.floor(random() * 8);
      let file = 0;
      while (at >= sizes[file]) at -= sizes[file++];
      const path = join(folder, 'store', files[file]);
      const bytes = readFileSync(path);
      bytes[at] ^= bit;
      writeFileSync(path, bytes);
      const place = `flip ${flip} of seed ${SEED}: ${files[file]}, byte ${at}, bit ${bit}`;
      const errors: string[] = [];
      let live: Live | null = null;
      try {
        live = await open(folder, errors);
      } catch (error) {
        const { message } = error as Error;
        assert.match(message, /damaged|repair|format/, `${place}: ${message}`);
        counts.refused++;
      }
      if (live) {
        const state = await stateOf(live);
        const named = live.log.damage.length > 0 && errors.includes('data_damaged');
        if (named) assert.ok(live.health().degraded.length > 0);
        if (state === expected) counts.equal++;
        else if (named) counts.named++;
        else assert.fail(`${place}: silently other than it was`);
        await live.kill();
      }
      rmSync(folder, { recursive: true, force: true });
    }
    console.log(
      `      ${FLIPS} flips: ${counts.equal} equal, ${counts.named} named, ${counts.refused} refused with a remedy`,
    );
    assert.ok(counts.named > 0);
  });

  it('whose store is cut in its tail starts with a word', async () => {
    const folder = join(dir, 'cut');
    cpSync(original(), folder, { recursive: true });
    const journal = readdirSync(join(folder, 'store'))
      .filter((name) => name.endsWith('.log'))
      .map((name) => join(folder, 'store', name))
      .sort((a, b) => statSync(b).size - statSync(a).size)[0];
    writeFileSync(journal, readFileSync(journal).subarray(0, statSync(journal).size / 2));
    const errors: string[] = [];
    const live = await open(folder, errors);
    assert.ok(errors.includes('data_damaged'));
    assert.ok(live.storage().damagedPlaces > 0);
    const reasons = live.health().degraded.map(({ reason }) => reason);
    assert.ok(
      reasons.some((reason) => /the log lacks records? \d+/.test(reason)),
      reasons.join('\n'),
    );
    await live.kill();
  });
});
