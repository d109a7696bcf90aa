/**
 * A series of costs over time as a drawing in characters: one bar per column, stacked by component.
 * Invariant: the height of a bar is its total to the nearest line, and never 0 when its total is above half a line.
 */

import type { FrameCost } from '../../metric/evaluation.js';
import { dim, type Screen } from './table.js';

const LINES = 8;
const AXIS_CHARS = 8;
const COLUMNS_MAX = 90;

// drawn from the bottom up, in the order of the components
const LAYERS: Array<{ component: keyof FrameCost; letter: string; color: number }> = [
  { component: 'localization', letter: 'l', color: 75 },
  { component: 'missed', letter: 'm', color: 203 },
  { component: 'false', letter: 'f', color: 221 },
  { component: 'switch', letter: 's', color: 177 },
];

/** What the letters or colours mean. */
export function timelineLegend(screen: Screen): string {
  return LAYERS.map(({ component, letter, color }) => `${ink(letter, color, screen)} ${component}`).join('   ');
}

/** Draws `costs`, the first of which belongs to frame 1; `marks` are frames to point at. */
export function drawTimeline(costs: FrameCost[], marks: number[], screen: Screen): string[] {
  const width = Math.max(10, Math.min(COLUMNS_MAX, screen.columns - AXIS_CHARS - 1, costs.length));
  const bars = highestPerColumn(costs, width);
  const top = Math.max(...bars.map(totalOf));
  const stacks = bars.map((cost) => stackOf(cost, top));
  const lines = Array.from({ length: LINES }, (_, index) => {
    const level = LINES - 1 - index;
    const axis = index === 0 ? (top < 1000 ? top.toPrecision(3) : top.toFixed(0)) : index === LINES - 1 ? '0' : '';
    return `${axis.padStart(AXIS_CHARS - 2)} ┤${stacks.map((stack) => cellOf(stack[level], screen)).join('')}`;
  });
  return [...lines.map((line) => line.trimEnd()), ...axisOf(costs.length, width, marks, screen)];
}

function totalOf(cost: FrameCost): number {
  return cost.localization + cost.missed + cost.false + cost.switch;
}

/** Several frames share a column, which shows the one with the highest cost. */
function highestPerColumn(costs: FrameCost[], width: number): FrameCost[] {
  return Array.from({ length: width }, (_, column) => {
    const from = Math.floor((column * costs.length) / width);
    const to = Math.max(from + 1, Math.floor(((column + 1) * costs.length) / width));
    return costs.slice(from, to).reduce((high, cost) => (totalOf(cost) > totalOf(high) ? cost : high));
  });
}

/** The layer of each line of a bar, from the bottom up. */
function stackOf(cost: FrameCost, top: number): number[] {
  const stack: number[] = [];
  let height = 0;
  LAYERS.forEach(({ component }, layer) => {
    height += cost[component];
    const reached = top > 0 ? Math.round((height / top) * LINES) : 0;
    while (stack.length < reached) stack.push(layer);
  });
  return stack;
}

function cellOf(layer: number | undefined, screen: Screen): string {
  if (layer === undefined) return ' ';
  return ink(LAYERS[layer].letter, LAYERS[layer].color, screen);
}

function ink(letter: string, color: number, { colors }: Screen): string {
  return colors ? `\x1b[38;5;${color}m█\x1b[0m` : letter;
}

function axisOf(frames: number, width: number, marks: number[], screen: Screen): string[] {
  const columnOf = (frame: number) => Math.min(width - 1, Math.floor(((frame - 1) * width) / frames));
  const pointers = Array.from({ length: width }, () => '─');
  for (const frame of marks) pointers[columnOf(frame)] = '▲';
  const labels = `frame 1${String(frames).padStart(width - 7)}`;
  const margin = ' '.repeat(AXIS_CHARS);
  return [dim(`${margin.slice(1)}└${pointers.join('')}`, screen), dim(margin + labels, screen)];
}
