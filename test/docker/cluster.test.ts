/**
 * The compose file and the Kubernetes manifests of a cluster: schemas take them, the programs take the configurations
 * in them, and what they name of each other exists. The brokers and an evaluator of the compose file are started as
 * they are, but for addresses.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PodMonitor, PrometheusRule } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1';
import { StatefulSet } from 'kubernetes-models/apps/v1';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1';
import { ConfigMap, Service } from 'kubernetes-models/v1';
import { parse, parseAllDocuments } from 'yaml';
import { operatorRules, RULES } from '../../dashboards/prometheus/cluster-rules.js';
import { readConfig } from '../../src/config/config.js';
import { NatsCluster, skipUnlessNats } from '../kit/system/brokers/nats.js';
import { EvaluatorProcess } from '../kit/system/evaluator-process.js';
import { hasProgram, skipInFastRun, skipUnless, until } from '../kit/system/system.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const docker = join(root, 'docker');
const read = (file: string) => readFileSync(join(docker, file), 'utf8');
const env = { TGOSPA_TOKEN: 'c'.repeat(32) };
const BROKERS = ['broker-0', 'broker-1', 'broker-2'];
const EVALUATORS = ['evaluator-0', 'evaluator-1', 'evaluator-2'];

interface ComposeService {
  image: string;
  build?: object;
  environment?: Record<string, string>;
  ports?: string[];
  volumes: string[];
  read_only: boolean;
  cap_drop: string[];
}

const compose: { services: Record<string, ComposeService>; volumes: object } = parse(read('compose-cluster.yaml'), {
  merge: true,
});

describe('compose-cluster.yaml', () => {
  it('is valid for docker-compose', function () {
    skipUnless(this, hasProgram('docker-compose'), 'docker-compose is needed; Debian: apt-get install docker-compose');
    const args = ['-f', join(docker, 'compose-cluster.yaml'), 'config', '--quiet'];
    const check = (more: object) =>
      spawnSync('docker-compose', args, { encoding: 'utf8', env: { PATH: process.env.PATH, ...more } });
    assert.equal(check(env).status, 0, check(env).stderr);
    assert.match(check({}).stderr, /TGOSPA_TOKEN/, 'it does not start without a token');
  });

  it('has three brokers, three evaluators and a Prometheus, each confined, with files and volumes that exist', () => {
    assert.deepEqual(Object.keys(compose.services), [...BROKERS, ...EVALUATORS, 'prometheus']);
    for (const [name, { volumes, read_only, cap_drop, ports = [], image, build }] of Object.entries(compose.services)) {
      assert.deepEqual([read_only, cap_drop], [true, ['ALL']], name);
      for (const port of ports) assert.match(port, /^127\.0\.0\.1:/);
      if (!build) assert.match(image, /:v?\d+\.\d+\.\d+/);
      for (const volume of volumes) {
        const [source] = volume.split(':');
        // the operator makes it
        if (source === './token') continue;
        const found = source.startsWith('.') ? existsSync(resolve(docker, source)) : source in compose.volumes;
        assert.ok(found, `${name}: ${source} does not exist`);
      }
    }
    for (const name of BROKERS) assert.equal(compose.services[name].environment?.BROKER, name);
  });

  it('has Prometheus scrape every evaluator as one job, with the rules for several', function () {
    const { rule_files, scrape_configs } = parse(read('prometheus-cluster.yml'));
    assert.deepEqual(rule_files, ['/etc/prometheus/rules/rules-cluster.yml']);
    assert.equal(scrape_configs[0].job_name, 'tgospa');
    assert.deepEqual(
      scrape_configs[0].static_configs[0].targets,
      EVALUATORS.map((name) => `${name}:9477`),
    );
    skipUnless(this, hasProgram('promtool'), 'promtool is needed; Debian: apt-get install prometheus');
    const args = ['check', 'config', '--syntax-only', join(docker, 'prometheus-cluster.yml')];
    const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8' });
    assert.equal(status, 0, stdout + stderr);
  });

  it('starts: three brokers from nats.conf, an evaluator from tgospa-cluster.yaml, every partition served', async function () {
    skipUnlessNats(this);
    const textOf = (n: number, hosts: string[]) =>
      BROKERS.reduce((text, name, other) => text.replaceAll(`${name}:6222`, hosts[other]), read('nats.conf'))
        .replace('$BROKER', BROKERS[n])
        .replace('http: 0.0.0.0:8222\n', '')
        .replace('listen: 0.0.0.0:6222', `listen: ${hosts[n]}`);
    // as depends_on has it: two found the cluster, and the third joins it
    const cluster = new NatsCluster(3, (n) => ({ name: BROKERS[n], textOf: (hosts) => textOf(n, hosts) }));
    let evaluator: EvaluatorProcess | undefined;
    try {
      await cluster.start();
      const brokers = cluster.servers;
      const text = BROKERS.reduce(
        (rest, name, n) =>
          rest.replace(`nats://${name}:4222`, brokers[n].url).replace(`http://${name}:8222`, brokers[n].monitor),
        read('tgospa-cluster.yaml'),
      );
      const config = parse(text);
      // the disk of a test need not be large, and 64 partitions take their time
      Object.assign(config.cluster, { partitions: 4, logMaxBytes: 1 << 24, stateMaxBytes: 1 << 24 });
      evaluator = await EvaluatorProcess.create({ ...config, tokens: [] });
      await evaluator.start();
      await until(
        'every partition is served',
        async () => (await evaluator!.json<{ ready: boolean }>('/readyz')).ready,
      );
      assert.doesNotMatch(evaluator.output, /sync_unverified/, 'the brokers flush before they acknowledge');
    } finally {
      await evaluator?.dispose();
      await cluster.close();
    }
  });

  it('gives evaluators a configuration that is in order', () => {
    const { config } = readConfig({ text: read('tgospa-cluster.yaml'), env });
    assert.deepEqual(
      config.cluster!.servers,
      BROKERS.map((name) => `nats://${name}:4222`),
    );
    assert.equal(config.cluster!.replicas, 3);
  });
});

/** The schemas of the objects, made from Kubernetes' own descriptions and those of the Prometheus operator. */
const MODELS = { ConfigMap, Service, StatefulSet, PodDisruptionBudget, PodMonitor, PrometheusRule };
const MODULES: Record<keyof typeof MODELS, string> = {
  ConfigMap: 'kubernetes-models/v1',
  Service: 'kubernetes-models/v1',
  StatefulSet: 'kubernetes-models/apps/v1',
  PodDisruptionBudget: 'kubernetes-models/policy/v1',
  PodMonitor: '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1',
  PrometheusRule: '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1',
};

interface Manifest {
  apiVersion: string;
  kind: keyof typeof MODELS;
  metadata: { name: string };
  data: Record<string, string>;
  // biome-ignore lint/suspicious/noExplicitAny: each kind has its own, and a schema has looked at it
  spec: any;
}

const FILES = ['nats.yaml', 'tgospa.yaml', 'monitoring.yaml', 'rules.yaml'];
const manifests: Manifest[] = FILES.flatMap((file) =>
  parseAllDocuments(read(`kubernetes/${file}`)).map((document) => document.toJS() as Manifest),
);
const only = (kind: Manifest['kind'], name: string): Manifest =>
  manifests.find((one) => one.kind === kind && one.metadata.name === name)!;

function validate(manifest: Manifest): void {
  const Model = MODELS[manifest.kind] as new (data: never) => { apiVersion: string; validate(): void };
  const model = new Model(manifest as never);
  assert.equal(model.apiVersion, manifest.apiVersion);
  model.validate();
}

/** The complaints of the compiler about objects with fields that their schema does not have. */
function unknownFields(objects: readonly Manifest[]): string {
  // where the packages are found
  const folder = mkdtempSync(join(root, 'dist', 'manifests-'));
  try {
    const lines = objects.map(({ kind, ...rest }, n) => {
      const text = JSON.stringify({ kind, ...rest });
      return `import type { I${kind} as T${n} } from '${MODULES[kind]}';\nexport const o${n}: T${n} = ${text};`;
    });
    writeFileSync(join(folder, 'objects.ts'), lines.join('\n'));
    const flags = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--moduleResolution', 'nodenext'];
    const tsc = join(root, 'node_modules', '.bin', 'tsc');
    return spawnSync(tsc, ['--ignoreConfig', ...flags, join(folder, 'objects.ts')], { encoding: 'utf8' }).stdout;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe('the Kubernetes manifests', () => {
  it('are what their schemas say', () => {
    assert.deepEqual(manifests.map(({ kind }) => kind).sort(), [
      'ConfigMap',
      'ConfigMap',
      'PodDisruptionBudget',
      'PodDisruptionBudget',
      'PodMonitor',
      'PrometheusRule',
      'Service',
      'Service',
      'Service',
      'StatefulSet',
      'StatefulSet',
    ]);
    for (const manifest of manifests) validate(manifest);
    const broken = structuredClone(only('StatefulSet', 'tgospa'));
    delete broken.spec.selector;
    assert.throws(() => validate(broken), /must have required property selector/);
  });

  it('have no field that their schemas do not know', function () {
    skipInFastRun(this);
    assert.equal(unknownFields(manifests), '');
    const misspelt = structuredClone(only('PodMonitor', 'tgospa'));
    misspelt.spec.podMetricsEndpoints[0].intervall = '5s';
    assert.match(unknownFields([misspelt]), /intervall"' does not exist in type/);
  });

  it('have the rules for several processes, as they are generated', () => {
    assert.equal(read('kubernetes/rules.yaml'), operatorRules(readFileSync(RULES.cluster, 'utf8')));
  });

  it('fit together: selectors find pods, ports have names, services and files are there', () => {
    for (const name of ['nats', 'tgospa']) {
      const { spec } = only('StatefulSet', name);
      const { labels } = spec.template.metadata;
      assert.equal(spec.replicas, 3);
      assert.deepEqual(spec.selector.matchLabels, labels);
      assert.deepEqual(only('PodDisruptionBudget', name).spec.selector.matchLabels, labels);
      assert.deepEqual(only('Service', spec.serviceName).spec.selector, labels);
      const [container] = spec.template.spec.containers;
      const ports = new Set(container.ports.map((port: { name: string }) => port.name));
      for (const probe of [container.readinessProbe, container.livenessProbe]) assert.ok(ports.has(probe.httpGet.port));
      for (const service of manifests.filter(({ kind, spec }) => kind === 'Service' && isEqual(spec.selector, labels)))
        for (const { targetPort } of service.spec.ports) assert.ok(ports.has(targetPort), service.metadata.name);
      const volumes = [...(spec.template.spec.volumes ?? []), ...(spec.volumeClaimTemplates ?? [])].map(
        (one) => one.name ?? one.metadata.name,
      );
      for (const mount of container.volumeMounts) assert.ok(volumes.includes(mount.name));
      assert.ok(only('ConfigMap', name));
    }
    const monitor = only('PodMonitor', 'tgospa').spec;
    const { labels } = only('StatefulSet', 'tgospa').spec.template.metadata;
    assert.deepEqual(monitor.selector.matchLabels, labels);
    assert.equal(labels[monitor.jobLabel], 'tgospa', 'the job that the rules ask for');
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const [{ image }] = only('StatefulSet', 'tgospa').spec.template.spec.containers;
    assert.equal(image, `tgospa-live:${version}`);
  });

  it('hold configurations that evaluators and brokers take', function () {
    const { config } = readConfig({ text: only('ConfigMap', 'tgospa').data['tgospa.yaml'], env });
    const { serviceName, replicas } = only('StatefulSet', 'nats').spec;
    const hosts = Array.from({ length: replicas }, (_, n) => `nats-${n}.${serviceName}`);
    assert.deepEqual(
      config.cluster!.servers,
      hosts.map((host) => `nats://${host}:4222`),
    );
    const text = only('ConfigMap', 'nats').data['nats.conf'];
    for (const host of hosts) assert.ok(text.includes(`nats://${host}:6222`));
    skipUnlessNats(this);
    const folder = mkdtempSync(join(tmpdir(), 'tgospa-manifests-'));
    const file = join(folder, 'nats.conf');
    const check = (conf: string) => {
      writeFileSync(file, conf);
      const pod = { POD_NAME: 'nats-0', PATH: process.env.PATH };
      return spawnSync('nats-server', ['-t', '-c', file], { encoding: 'utf8', env: pod });
    };
    assert.equal(check(text).status, 0, check(text).stderr);
    assert.notEqual(check(text.replace('max_payload', 'max_paylode')).status, 0, 'a wrong key is noticed');
    rmSync(folder, { recursive: true, force: true });
  });
});

const isEqual = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);
