/** The container image and the compose file, checked as far as that can be done without a container engine. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, posix, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { get } from '../kit/edge.js';
import { canContain, contained, instruction, runStage, stagesOf } from '../kit/system/container.js';
import { freePort, hasProgram, skipUnless, until } from '../kit/system/system.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const docker = join(root, 'docker');
const read = (file: string) => readFileSync(join(root, file), 'utf8');

interface Service {
  image: string;
  build?: { context: string; dockerfile: string };
  command?: string[];
  environment?: Record<string, string>;
  ports: string[];
  volumes: string[];
  read_only?: boolean;
  cap_drop?: string[];
  security_opt?: string[];
  mem_limit?: string;
}

const compose: { services: Record<string, Service>; volumes: Record<string, unknown> } = parse(
  read('docker/compose.yaml'),
  { merge: true },
);
const { evaluator, prometheus, alertmanager, grafana } = compose.services;
const [buildStage, imageStage] = stagesOf(read('docker/Dockerfile'));

/** What a path inside a service is on this side; undefined when nothing is mounted there. */
function outside({ volumes }: Service, path: string): string | undefined {
  for (const volume of volumes) {
    const [source, target] = volume.split(':');
    if (source.startsWith('.') && (path === target || path.startsWith(`${target}/`)))
      return join(resolve(docker, source), posix.relative(target, path));
  }
  return undefined;
}

/** The port a service opens to its neighbours. */
const portOf = ({ ports }: Service) => Number(ports[0].split(':').at(-1));

describe('compose.yaml', () => {
  it('is valid for docker-compose', function () {
    skipUnless(this, hasProgram('docker-compose'), 'docker-compose is needed; Debian: apt-get install docker-compose');
    const { status, stderr } = spawnSync('docker-compose', ['-f', join(docker, 'compose.yaml'), 'config', '--quiet'], {
      encoding: 'utf8',
    });
    assert.equal(status, 0, stderr);
  });

  it('names only files, folders and volumes that exist', () => {
    for (const [name, { volumes, build }] of Object.entries(compose.services)) {
      for (const volume of volumes) {
        const [source] = volume.split(':');
        const found = source.startsWith('.') ? existsSync(resolve(docker, source)) : source in compose.volumes;
        assert.ok(found, `${name}: ${source} does not exist`);
      }
      if (build) assert.ok(existsSync(resolve(docker, build.context, build.dockerfile)), `${name}: no Dockerfile`);
    }
  });

  it('opens every port to this machine only, none twice', () => {
    const ports = Object.values(compose.services).flatMap((service) => service.ports);
    for (const port of ports) assert.match(port, /^127\.0\.0\.1:(\d+):\1$/);
    assert.equal(new Set(ports).size, ports.length);
  });

  it('pins every image to a version', () => {
    for (const { image, build } of Object.values(compose.services))
      if (!build) assert.match(image, /:v?\d+\.\d+\.\d+$/);
  });

  it('gives Prometheus its configuration, the rules, the evaluator and Alertmanager', () => {
    const file = outside(prometheus, '/etc/prometheus/prometheus.yml')!;
    const config = parse(readFileSync(file, 'utf8'));
    assert.ok(prometheus.command!.includes('--config.file=/etc/prometheus/prometheus.yml'));
    for (const rules of config.rule_files) assert.ok(existsSync(outside(prometheus, rules)!), rules);
    const [scrape] = config.scrape_configs;
    assert.equal(scrape.job_name, 'tgospa');
    assert.deepEqual(scrape.static_configs[0].targets, [`evaluator:${portOf(evaluator)}`]);
    const [{ static_configs }] = config.alerting.alertmanagers;
    assert.deepEqual(static_configs[0].targets, [`alertmanager:${portOf(alertmanager)}`]);
  });

  it('gives Prometheus a configuration that promtool takes', function () {
    skipUnless(this, hasProgram('promtool'), 'promtool is needed; Debian: apt-get install prometheus');
    const file = join(docker, 'prometheus.yml');
    const args = ['check', 'config', '--syntax-only', file];
    const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8' });
    assert.equal(status, 0, stdout + stderr);
  });

  it('gives Alertmanager a configuration that amtool takes', function () {
    const file = outside(alertmanager, '/etc/alertmanager/alertmanager.yml')!;
    assert.ok(alertmanager.command!.includes('--config.file=/etc/alertmanager/alertmanager.yml'));
    skipUnless(this, hasProgram('amtool'), 'amtool is needed; Debian: apt-get install prometheus-alertmanager');
    const { status, stdout, stderr } = spawnSync('amtool', ['check-config', file], { encoding: 'utf8' });
    assert.equal(status, 0, stdout + stderr);
  });

  it('gives Grafana its data source, its dashboards and a first page', () => {
    const provisioning = '/etc/grafana/provisioning';
    const load = (path: string) => parse(readFileSync(outside(grafana, `${provisioning}/${path}`)!, 'utf8'));
    const [source] = load('datasources/prometheus.yaml').datasources;
    assert.deepEqual([source.type, source.url], ['prometheus', `http://prometheus:${portOf(prometheus)}`]);
    const [{ type, options }] = load('dashboards/tgospa.yaml').providers;
    assert.equal(type, 'file');
    const dashboards = readdirSync(outside(grafana, options.path)!).filter((name) => name.endsWith('.json'));
    assert.deepEqual(dashboards.sort(), ['comparison.json', 'overview.json', 'series.json']);
    const home = grafana.environment!.GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH;
    assert.ok(existsSync(outside(grafana, home)!), home);
  });

  it('confines every service: a read-only root, no capabilities, no new privileges, a limit of memory', () => {
    for (const [name, service] of Object.entries(compose.services)) {
      assert.equal(service.read_only, true, name);
      assert.deepEqual(service.cap_drop, ['ALL'], name);
      assert.deepEqual(service.security_opt, ['no-new-privileges:true'], name);
      assert.match(service.mem_limit!, /^\d+[mg]$/, name);
    }
    assert.deepEqual(
      evaluator.volumes.map((volume) => volume.split(':')[1]),
      [instruction(imageStage, 'VOLUME')],
    );
  });
});

describe('the bill of materials', () => {
  it('lists what is shipped, from the lock file and without a network', function () {
    skipUnless(this, hasProgram('npm'), 'npm is needed');
    const { status, stdout, stderr } = spawnSync('npm', ['run', '--silent', 'sbom'], {
      cwd: root,
      encoding: 'utf8',
      env: { ...process.env, npm_config_offline: 'true' },
    });
    assert.equal(status, 0, stderr);
    const { bomFormat, components } = JSON.parse(stdout) as { bomFormat: string; components: Array<{ name: string }> };
    assert.equal(bomFormat, 'CycloneDX');
    const names = components.map(({ name }) => name);
    for (const name of Object.keys(JSON.parse(read('package.json')).dependencies))
      assert.ok(names.includes(name), name);
    assert.ok(!names.includes('typescript'), 'nothing to develop with');
  });
});

describe('Dockerfile', () => {
  it('starts both stages from the same image, of a line of Node that is supported for long', () => {
    const images = [...read('docker/Dockerfile').matchAll(/^FROM (\S+)/gm)].map(([, image]) => image);
    assert.equal(images.length, 2);
    for (const image of images) assert.match(image, /^node:24-bookworm-slim(@sha256:[0-9a-f]{64})?$/);
    assert.equal(images[0], images[1]);
  });

  it('ends in a stage without tools to build, for an ordinary user, with a port, a volume and a health check', () => {
    const port = instruction(imageStage, 'EXPOSE');
    assert.equal(Number(port), portOf(evaluator));
    assert.match(instruction(imageStage, 'USER'), /^[1-9]\d*:[1-9]\d*$/);
    assert.match(instruction(imageStage, 'HEALTHCHECK'), new RegExp(`127\\.0\\.0\\.1:${port}/healthz`));
    assert.match(instruction(imageStage, 'COPY'), /^--from=build \/app \/app$/);
  });

  it('leaves nothing out of its context that building needs, and nothing in that it does not', () => {
    const ignored = read('.dockerignore').split('\n').filter(Boolean);
    for (const name of ['node_modules', 'dist', '.git']) assert.ok(ignored.includes(name), name);
    for (const name of ['src', 'adapters', 'dashboards', 'package.json', 'package-lock.json', 'tsconfig.json'])
      assert.ok(!ignored.includes(name), name);
  });
});

describe('the image', () => {
  let folder: string;
  let app: string;

  before(function () {
    skipUnless(this, hasProgram('npm'), 'npm is needed to build the image');
    // everything is installed twice and compiled; a busy machine takes minutes
    this.timeout(900_000);
    folder = mkdtempSync(join(tmpdir(), 'tgospa-image-'));
    app = join(folder, 'app');
    runStage(buildStage, root, { '/build': join(folder, 'build'), '/app': app });
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('is built in a clean folder from the lock file, without anything to develop with', () => {
    const modules = readdirSync(join(app, 'node_modules'));
    assert.ok(modules.includes('classic-level') && !modules.includes('typescript') && !modules.includes('mocha'));
    assert.ok(existsSync(join(app, 'dist/src/main.js')));
    const mebibytes = sizeOf(app) / 2 ** 20;
    assert.ok(mebibytes < 40, `the program takes ${mebibytes.toFixed(1)} MiB`);
  });

  it('runs as an ordinary user with a read-only root and one writable volume, answers its health check, and stops', async function () {
    skipUnless(this, canContain(), 'root and mount namespaces are needed to run the image without an engine');
    const data = join(folder, 'data');
    mkdirSync(data, { recursive: true });
    chownSync(data, 1000, 1000);
    const port = await freePort();
    const words = [...JSON.parse(instruction(imageStage, 'ENTRYPOINT')), ...evaluator.command!, '--port', String(port)];
    const child = contained(folder, app, data, words);
    let output = '';
    for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (chunk) => (output += chunk));
    try {
      await until('the image serves reports', async () => {
        assert.equal(child.exitCode, null, output);
        const text = await fetch(`http://127.0.0.1:${port}/metrics`).then((answer) => answer.text(), String);
        return /^tgospa_window_distance\{stream="crossing",tracker="steady"/m.test(text);
      });
      assert.equal((await get(`http://127.0.0.1:${port}/v1/streams`, { host: 'evaluator:9477' })).status, 200);
      const rebound = await get(`http://127.0.0.1:${port}/v1/streams`, { host: 'evil.example:9477' });
      assert.equal(rebound.status, 403, 'a page elsewhere whose own name leads here reads nothing');
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
      assert.match(status, /^Uid:\t1000\t1000\t1000\t1000$/m);
      assert.match(status, /^CapEff:\t0+$/m);
      const [, health] = /CMD (\[.*\])$/.exec(instruction(imageStage, 'HEALTHCHECK'))!;
      const check: string[] = JSON.parse(health.replace('127.0.0.1:9477', `127.0.0.1:${port}`));
      assert.equal(await exitOf(contained(folder, app, data, check)), 0);
      const wrong = check.map((word) => word.replace('/healthz', '/nowhere'));
      assert.equal(await exitOf(contained(folder, app, data, wrong)), 1);
      for (const [place, writable] of [
        ['/data', true],
        ['/app', false],
        ['/tmp', false],
        ['/etc', false],
        ['/', false],
      ])
        assert.equal(
          (await exitOf(contained(folder, app, data, ['touch', `${place}/probe`]))) === 0,
          writable,
          `${place}`,
        );
    } finally {
      child.kill('SIGTERM');
    }
    assert.equal(await exitOf(child), 0, output);
    assert.ok(readdirSync(data).length > 1, 'nothing was kept in the volume');
  });

  it('refuses to serve the world without a token, and says what to do', async function () {
    skipUnless(this, canContain(), 'root and mount namespaces are needed to run the image without an engine');
    const data = join(folder, 'data-serve');
    mkdirSync(data, { recursive: true });
    chownSync(data, 1000, 1000);
    const words = [...JSON.parse(instruction(imageStage, 'ENTRYPOINT')), ...JSON.parse(instruction(imageStage, 'CMD'))];
    const child = contained(folder, app, data, words);
    let output = '';
    child.stderr!.on('data', (chunk) => (output += chunk));
    assert.notEqual(await exitOf(child), 0);
    assert.match(output, /no tokens are configured; add tokens/);
  });
});

/** The exit code, also of a process that has ended already. */
async function exitOf(child: ReturnType<typeof contained>): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
  return child.exitCode;
}

function sizeOf(path: string): number {
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .map((name) => statSync(join(path, name), { throwIfNoEntry: false }))
    .reduce((sum, stat) => sum + (stat?.isFile() ? stat.size : 0), 0);
}
