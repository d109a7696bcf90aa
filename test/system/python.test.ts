/**
 * The Python client in adapters/python, run by the system's Python against the real evaluator: its own tests, and a
 * scene that must come out as `evaluate` says although the connections are cut again and again.
 */
import { strict as assert } from 'node:assert';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type App, startApp } from '../../src/app.js';
import { readConfig } from '../../src/config/config.js';
import { evaluate, presets } from '../../src/index.js';
import { crossingScene } from '../../src/simulation/walkers.js';
import { createLogger } from '../../src/telemetry/logger.js';
import { UNTIMED_EVALUATION, UNTIMED_PAIRING } from '../kit/settings.js';
import { hasWebsockets, PYTHON, PYTHON_FOLDER, runPython } from '../kit/system/program.js';
import { skipUnless } from '../kit/system/system.js';

describe('the Python client', () => {
  let folder: string;
  let app: App;

  before(async function () {
    skipUnless(this, hasWebsockets(), `${PYTHON} lacks websockets; install python3-websockets`);
    folder = mkdtempSync(join(tmpdir(), 'tgospa-python-'));
    const { config } = readConfig({
      text: JSON.stringify({
        evaluation: UNTIMED_EVALUATION,
        streams: { defaults: { windowFrames: 1000, pairing: UNTIMED_PAIRING } },
      }),
      overrides: { listen: { port: 0 }, data: { dir: join(folder, 'data') } },
      env: {},
    });
    app = await startApp(config, { env: {}, logger: createLogger({ level: 'silent' }) });
  });
  after(async () => {
    await app?.stop();
    if (folder) rmSync(folder, { recursive: true, force: true });
  });

  const python = (args: string[], input?: string) => runPython(args, app.urls.http, input);

  it('passes its own tests against this server', async () => {
    const { status, stderr } = await python(['-W', 'error::DeprecationWarning:tgospa_live', '-m', 'unittest', '-v']);
    assert.equal(status, 0, stderr);
    const [, count] = stderr.match(/Ran (\d+) tests/) ?? assert.fail(stderr);
    assert.ok(Number(count) >= 20 && /\nOK\n$/.test(stderr), stderr);
  });

  it('is written in the language of Python 3.9', async () => {
    const program = `import ast, pathlib
for file in pathlib.Path('..').rglob('*.py'): ast.parse(file.read_text(), str(file), feature_version=(3, 9))`;
    const { status, stderr } = await python(['-c', program]);
    assert.equal(status, 0, stderr);
  });

  it('delivers a scene through cut connections that is judged as evaluate judges it', async () => {
    const { frames } = crossingScene().trackers.find(({ name }) => name === 'faulty')!;
    const stream = 'from-python';
    const scene = {
      stream,
      reference: frames.map((frame) => frame.reference),
      tracker: frames.map((frame) => frame.tracker),
    };
    const { status, stdout, stderr } = await python(['send_scene.py'], JSON.stringify(scene));
    assert.equal(status, 0, stderr);
    assert.ok(JSON.parse(stdout).cuts >= 7, stdout);
    const profile = 'online-surveillance';
    const { evaluation } = (await app.live.window(stream, 'python', profile))!;
    const expected = evaluate(frames, presets[profile]);
    assert.equal(evaluation.frames, frames.length);
    assert.deepEqual(evaluation.count, expected.count);
    assert.ok(Math.abs(evaluation.distance - expected.distance) < 1e-9);
  });

  it('is shown in a README whose example runs', async () => {
    const text = readFileSync(join(PYTHON_FOLDER, 'README.md'), 'utf8');
    const [, program] = text.match(/```python\n([\s\S]*?)```/) ?? assert.fail('the README has no example');
    const { status, stdout, stderr } = await python(['-c', program.replace('http://127.0.0.1:9477', app.urls.http)]);
    assert.equal(status, 0, stderr);
    assert.match(stdout, /stored/);
    assert.ok(await app.live.window('five-minutes', 'example', 'online-surveillance'), 'the example was judged');
  });
});
