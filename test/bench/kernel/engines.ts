/**
 * One scene slid over by the rule, by the frontier alone and by the program alone, in turns; processor time. Every pass
 * does the same work push by push, so of each push the fastest pass counts: what other programs and the compilers take
 * is in some passes, not in all. Passes are whole, because who runs behind an engine finds its code and frames in the
 * cache, or another's. The rule is held against the better engine of each push.
 */

import { type Report, SlidingWindow, type SolveOptions } from '../../../src/index.js';
import type { Frame } from '../../../src/metric/evaluation.js';
import type { Scene } from './scenes.js';

/** a push of the frontier alone that takes longer ends its run: its states grow without end in some scenes */
const PATIENCE_MS = 400;
/** pushes that take less are nobody's concern, and mostly noise */
const NOTABLE_MS = 0.2;
/** so often each engine slides over a sequence */
const PASSES = 6;
const ENGINES = { rule: {}, frontier: { frontierMax: 1e9, budgetMs: PATIENCE_MS }, program: { solver: 'lp' } } as const;
type Engine = keyof typeof ENGINES;
const NAMES = Object.keys(ENGINES) as Engine[];

/** Milliseconds of processor time since an earlier reading. */
export function cpuMs(since?: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1000;
}

export const quantile = (sorted: readonly number[], p: number): number =>
  sorted.length === 0 ? Number.NaN : sorted[Math.min(sorted.length - 1, Math.floor(p * sorted.length))];
const ascending = (list: readonly number[]) => [...list].sort((a, b) => a - b);
export const round = (value: number, digits = 3): number => Number(value.toPrecision(digits));

/** What is kept of a report. */
type Said = Pick<Report, 'exact' | 'solver'> & { total: number };

interface Run {
  times: Record<Engine, number[]>;
  /** the frontier had to give up */
  gaveUp: boolean;
  /** pairs in contested places by who solved them, and pushes that were not exact */
  choice: Map<string, number>;
  open: number;
  worstDifference: number;
}

export interface EngineRow {
  scene: string;
  pushes: number;
  'rule median': number;
  'rule p99': number;
  'frontier median': number | string;
  'frontier p99': number | string;
  'program median': number;
  'program p99': number;
  /** seconds in all */
  'rule s': number;
  'frontier s': number | string;
  'program s': number;
  /**
   * of all pushes: time of the rule over that of the engine that is better in sum, and over the better one of each push
   */
  'to better in sum': number;
  'to better per push': number;
  /** share of notable pushes in which the rule takes more than 1.2 times the better engine */
  'over 1.2': number;
  choice: string;
}

/** Slides all engines over a scene; `progress` is told how far it is, from 0 to 1. */
export function compareEngines(scene: Scene, progress: (share: number) => void): EngineRow {
  const run: Run = {
    times: { rule: [], frontier: [], program: [] },
    gaveUp: false,
    choice: new Map(),
    open: 0,
    worstDifference: 0,
  };
  const { sequences } = scene;
  let done = 0;
  for (const frames of sequences) {
    const times: Run['times'] = { rule: [], frontier: [], program: [] };
    for (let pass = 0; pass < PASSES; pass++) {
      const said = new Map<Engine, Said[]>();
      for (let turn = 0; turn < NAMES.length; turn++) {
        const name = NAMES[(pass + turn) % NAMES.length];
        if (name === 'frontier' && run.gaveUp) continue;
        said.set(name, slide(scene, frames, name, times[name], run));
      }
      if (pass === 0) record(run, said.get('rule')!, said.get('program')!);
      progress(++done / (PASSES * sequences.length));
    }
    // windows fill first, but for sequences that are hardly longer
    const counted = Math.min(scene.windowFrames, Math.floor(frames.length / 2));
    for (const name of NAMES) run.times[name] = run.times[name].concat(times[name].slice(counted));
  }
  return rowOf(scene, run);
}

/** Slides one engine over a sequence; of each push the least time so far is kept. */
function slide(scene: Scene, frames: Frame[], name: Engine, least: number[], run: Run): Said[] {
  const window = new SlidingWindow(
    { ...scene.params, windowFrames: scene.windowFrames },
    ENGINES[name] as SolveOptions,
  );
  const said: Said[] = [];
  for (let k = 0; k < frames.length; k++) {
    const start = process.cpuUsage();
    const { exact, cost, solver } = window.push(frames[k]);
    const ms = cpuMs(start);
    if (name === 'frontier' && (ms > PATIENCE_MS || !exact)) {
      run.gaveUp = true;
      break;
    }
    said.push({ exact, total: cost.total, solver });
    least[k] = Math.min(least[k] ?? Number.POSITIVE_INFINITY, ms);
  }
  window.dispose();
  return said;
}

function record(run: Run, rules: Said[], programs: Said[]): void {
  rules.forEach((rule, k) => {
    const program = programs[k];
    if (!rule.exact) run.open++;
    if (rule.exact && program.exact) {
      const difference = Math.abs(rule.total - program.total) / Math.max(rule.total, Number.MIN_VALUE);
      run.worstDifference = Math.max(run.worstDifference, difference);
    }
    for (const [name, count] of Object.entries(rule.solver))
      if (name !== 'pairs' && name !== 'isolated' && count > 0)
        run.choice.set(name, (run.choice.get(name) ?? 0) + count);
  });
}

function rowOf(scene: Scene, run: Run): EngineRow {
  const { times, gaveUp } = run;
  const better = (k: number) => (gaveUp ? times.program[k] : Math.min(times.frontier[k], times.program[k]));
  const sum = (list: readonly number[]) => list.reduce((all, ms) => all + ms, 0);
  const sums = { rule: sum(times.rule), frontier: sum(times.frontier), program: sum(times.program) };
  const best = gaveUp ? sums.program : Math.min(sums.frontier, sums.program);
  const ratios = ascending(times.rule.map((ms, k) => ms / Math.max(better(k), 1e-3)));
  const notable = times.rule.map((ms, k) => ({ ms, k })).filter(({ ms }) => ms > NOTABLE_MS);
  const over = notable.filter(({ ms, k }) => ms > 1.2 * better(k)).length;
  const medianAndTail = (list: readonly number[]) => {
    const sorted = ascending(list);
    return [round(quantile(sorted, 0.5)), round(quantile(sorted, 0.99))];
  };
  const rule = medianAndTail(times.rule);
  const frontier = gaveUp ? ['gave up', 'gave up'] : medianAndTail(times.frontier);
  const program = medianAndTail(times.program);
  const pairs = sum([...run.choice.values()]);
  const choice = [...run.choice].map(([name, count]) => `${name} ${Math.round((100 * count) / pairs)} %`);
  if (run.open > 0) choice.push(`${run.open} not exact`);
  if (run.worstDifference > 1e-12) choice.push(`engines ${round(run.worstDifference, 2)} apart`);
  return {
    scene: scene.name,
    pushes: times.rule.length,
    'rule median': rule[0],
    'rule p99': rule[1],
    'frontier median': frontier[0],
    'frontier p99': frontier[1],
    'program median': program[0],
    'program p99': program[1],
    'rule s': round(sums.rule / 1000),
    'frontier s': gaveUp ? 'gave up' : round(sums.frontier / 1000),
    'program s': round(sums.program / 1000),
    'to better in sum': round(sums.rule / best),
    'to better per push': round(quantile(ratios, 0.5)),
    'over 1.2': notable.length === 0 ? 0 : round(over / notable.length, 2),
    choice: choice.join(', ') || 'all isolated',
  };
}
