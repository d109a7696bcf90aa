/**
 * A real Prometheus, a real Alertmanager and a receiver of webhooks, on loopback, in a temporary folder, with the
 * shipped configuration.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse, stringify } from 'yaml';
import { Program } from './program.js';
import { freePort } from './system.js';

const docker = fileURLToPath(new URL('../../../../docker/', import.meta.url));
const configuration = (name: string) => parse(readFileSync(join(docker, name), 'utf8'));

export interface Notice {
  status: 'firing' | 'resolved';
  labels: Record<string, string>;
  annotations: Record<string, string>;
}

/** Keeps what Alertmanager sends. */
export class Receiver {
  readonly notices: Notice[] = [];
  #server: Server;

  private constructor() {
    this.#server = createServer(async (request, response) => {
      let text = '';
      for await (const chunk of request) text += chunk;
      this.notices.push(...JSON.parse(text).alerts);
      response.end();
    });
  }

  static async start(): Promise<Receiver> {
    const receiver = new Receiver();
    await new Promise<void>((resolve) => receiver.#server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  /** True when a notice of this status has come for an alert with these labels. */
  has(status: Notice['status'], labels: Record<string, string>): boolean {
    return this.notices.some(
      (notice) =>
        notice.status === status && Object.entries(labels).every(([key, value]) => notice.labels[key] === value),
    );
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

export interface Sample {
  metric: Record<string, string>;
  value: number;
}

export class Monitoring {
  readonly receiver: Receiver;
  readonly url: string;
  #programs: Program[];

  private constructor(receiver: Receiver, url: string, programs: Program[]) {
    this.receiver = receiver;
    this.url = url;
    this.#programs = programs;
  }

  /** Scrapes `targets` (host:port) every second and evaluates `rules` as often. */
  static async start(folder: string, targets: string | string[], rules: string): Promise<Monitoring> {
    const receiver = await Receiver.start();
    const programs: Program[] = [];
    const monitoring = (url: string) => new Monitoring(receiver, url, programs);
    try {
      const alertPort = await freePort();
      programs.push(startAlertmanager(folder, alertPort, receiver.url));
      const port = await freePort();
      programs.push(startPrometheus(folder, port, [targets].flat(), alertPort, rules));
      await programs[0].ready(`http://127.0.0.1:${alertPort}/-/ready`);
      await programs[1].ready(`http://127.0.0.1:${port}/-/ready`);
      return monitoring(`http://127.0.0.1:${port}`);
    } catch (error) {
      await monitoring('').stop();
      throw error;
    }
  }

  /** The result of an instant query; a query that is refused throws Prometheus' own words. */
  async query(expr: string): Promise<Sample[]> {
    const result = await this.#ask<{ value: [number, string] }>(expr);
    return result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }));
  }

  /** The samples of the series that `selector` names over the last `range`, each as time and value. */
  async history(selector: string, range: string): Promise<Array<Record<string, unknown>>> {
    return await this.#ask<{ values: Array<[number, string]> }>(`${selector}[${range}]`);
  }

  async #ask<T>(expr: string): Promise<Array<{ metric: Record<string, string> } & T>> {
    const answer = await fetch(`${this.url}/api/v1/query`, {
      method: 'POST',
      body: new URLSearchParams({ query: expr }),
    });
    const { status, error, data } = (await answer.json()) as {
      status: string;
      error?: string;
      data: { resultType: string; result: Array<{ metric: Record<string, string> } & T> };
    };
    if (status !== 'success') throw new Error(`${expr}: ${error}`);
    return data.result;
  }

  /** Every alert that has fired so far: its name, where, and found by what. */
  async fired(): Promise<string[]> {
    const samples = await this.query('max_over_time(ALERTS{alertstate="firing"}[1h])');
    return [...new Set(samples.map(({ metric }) => describeAlert(metric)))].sort();
  }

  async stop(): Promise<void> {
    for (const program of this.#programs) await program.stop();
    await this.receiver.stop();
  }
}

/** `name stream/tracker`, as far as the alert has them. */
export const describeAlert = ({ alertname, stream, tracker, role }: Record<string, string>): string =>
  [alertname, stream && `${stream}/${tracker ?? role}`].filter(Boolean).join(' ');

/** With the shipped configuration, but for waits of a second and a webhook behind every receiver. */
export function startAlertmanager(folder: string, port: number, webhook: string): Program {
  const config = configuration('alertmanager.yml');
  config.route.group_wait = '1s';
  config.route.group_interval = '1s';
  for (const receiver of config.receivers) receiver.webhook_configs = [{ url: webhook, send_resolved: true }];
  const file = join(folder, 'alertmanager.yml');
  writeFileSync(file, stringify(config));
  const storage = join(folder, 'alertmanager');
  mkdirSync(storage, { recursive: true });
  return new Program('prometheus-alertmanager', [
    `--config.file=${file}`,
    `--storage.path=${storage}`,
    `--web.listen-address=127.0.0.1:${port}`,
    '--cluster.listen-address=',
  ]);
}

function startPrometheus(folder: string, port: number, targets: string[], alertPort: number, rules: string): Program {
  const config = configuration('prometheus.yml');
  config.global = { scrape_interval: '1s', evaluation_interval: '1s' };
  config.rule_files = [join(folder, 'rules.yml')];
  config.alerting.alertmanagers[0].static_configs[0].targets = [`127.0.0.1:${alertPort}`];
  config.scrape_configs[0].static_configs[0].targets = targets;
  writeFileSync(join(folder, 'rules.yml'), rules);
  const file = join(folder, 'prometheus.yml');
  writeFileSync(file, stringify(config));
  return new Program('prometheus', [
    `--config.file=${file}`,
    `--storage.tsdb.path=${join(folder, 'prometheus')}`,
    `--web.listen-address=127.0.0.1:${port}`,
    '--log.level=warn',
  ]);
}
