/**
 * The numbers of surveillance as a table for people, with their units: of time seconds, or frames where files have only
 * their numbers; of space what the objects are in.
 */

import type { Params } from '../../../metric/params.js';
import type { PerformanceNumbers } from '../../../performance/performance.js';
import { short } from '../../console/numbers.js';
import { bold, type Column, drawTable, type Screen, wrapText } from '../../console/table.js';

export interface Measured {
  name: string;
  numbers: PerformanceNumbers;
}

export function drawNumbers(measured: Measured[], { distance }: Params, isTimed: boolean, screen: Screen): string[] {
  const time = isTimed ? 's' : 'frames';
  const space = distance === 'geodesic' ? 'm' : distance === 'euclidean' ? 'units of the points' : 'pixels';
  const column = (group: string, title: string, value: (numbers: PerformanceNumbers) => number | null): Column => ({
    title,
    group,
    align: 'right',
    cells: measured.map(({ numbers }) => cell(value(numbers))),
  });
  const columns: Column[] = [
    { title: 'tracker', align: 'left', key: true, cells: measured.map(({ name }) => name) },
    column('SIAP', 'completeness', ({ siap }) => siap.completeness),
    column('SIAP', 'spuriousness', ({ siap }) => siap.spuriousness),
    column('SIAP', 'ambiguity', ({ siap }) => siap.ambiguity),
    column('SIAP', 'accuracy', ({ siap }) => siap.positionalAccuracy),
    column('SIAP', 'number changes', ({ siap }) => siap.numberChangeRate),
    column('SIAP', 'longest segment', ({ siap }) => siap.longestSegmentShare),
    column('position error', 'RMS', ({ error }) => error?.rms ?? null),
    column('position error', '95 %', ({ error }) => error?.p95 ?? null),
    column('position error', 'along', ({ error }) => error?.along?.rms ?? null),
    column('position error', 'across', ({ error }) => error?.across?.rms ?? null),
    column('continuity', 'longest gap', ({ continuity }) => continuity.longestGap),
    column('continuity', 'time in gaps', ({ continuity }) => continuity.gapShare),
    column('continuity', 'first pair after', ({ continuity }) => continuity.firstPair?.mean ?? null),
    column('continuity', 'never paired', ({ continuity }) => continuity.neverPaired),
    ...(isTimed ? [column('continuity', 'changes per hour', (one) => one.continuity.changesPerObjectHour)] : []),
    column('not judged', 'truths', ({ notJudged }) => notJudged.truths),
    column('not judged', 'tracks', ({ notJudged }) => notJudged.tracks),
  ];
  const room = Math.min(screen.columns, 100);
  const latencies = measured.flatMap(({ name, numbers }) =>
    wrapText(`${name}: ${latencyOf(numbers, time, space)}`, room, '  '),
  );
  const units = `times in ${time}, position errors in ${space}; completeness is also called PD, or PU`;
  return [bold('Performance', screen), units, '', ...drawTable(columns, screen), '', ...latencies];
}

const cell = (value: number | null): string => (value === null ? '-' : short(value));

function latencyOf({ latency }: PerformanceNumbers, time: string, space: string): string {
  if (!latency) return 'latency and bias cannot be told: too few objects move.';
  const { latency: late, latencyError, bias, biasError } = latency;
  const biases = bias.map((one, d) => `${short(one)} ± ${short(biasError[d])}`).join(', ');
  return `latency ${short(late)} ± ${short(latencyError)} ${time}, bias ${biases} ${space} (not corrected).`;
}
