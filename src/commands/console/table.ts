/**
 * Text tables: aligned columns, optionally coloured like a heat map, folded into blocks when they are wider than the
 * terminal.
 * Invariant: without colours the text is the same, character for character, minus the escape sequences.
 */

import type { WriteStream } from 'node:tty';

export interface Column {
  /** heading above neighbouring columns of the same group */
  group?: string;
  title: string;
  align: 'left' | 'right';
  cells: string[];
  /** repeated at the left of every block, shortened when it is too wide */
  key?: boolean;
  /** colours cells from best to worst by these numbers */
  heat?: { values: number[]; best: 'low' | 'high' };
}

export interface Screen {
  /** width in characters; Infinity: never fold */
  columns: number;
  colors: boolean;
}

/** A terminal, as Node describes it. */
type Terminal = Pick<WriteStream, 'isTTY' | 'columns' | 'hasColors'>;

/**
 * What can be shown there. Colours of the palette of 256 are also sent to terminals that call themselves plain
 * `xterm`, as those of containers do: they announce 16 and show them all.
 */
export function screenOf(terminal: Terminal): Screen {
  if (terminal.isTTY !== true) return { columns: PASTED_COLUMNS, colors: false };
  return { columns: terminal.columns || 80, colors: terminal.hasColors() };
}

/** Where there is no terminal: what people paste into a mail or an issue should not be broken there. */
const PASTED_COLUMNS = 80;
const GAP = 2;
/** A key column is at most this share of the screen wide. */
const KEY_SHARE_MAX = 0.3;
// 256-colour backgrounds, green over yellow to red, all light enough for black text
const RAMP = [114, 150, 186, 222, 216, 210];
const BLACK = 16;

/** The table as lines. */
export function drawTable(columns: Column[], screen: Screen): string[] {
  const fitted = columns.map((column) => (column.key ? shorten(column, screen.columns * KEY_SHARE_MAX) : column));
  const keys = fitted.filter(({ key }) => key);
  const blocks = fold(fitted, keys, screen.columns);
  return blocks.flatMap((block, index) => (index > 0 ? ['', ...drawBlock(block, screen)] : drawBlock(block, screen)));
}

/** Words of a text, in lines of at most `columns` characters, the second and later ones indented. */
export function wrapText(text: string, columns: number, indent: string): string[] {
  const [first, ...words] = text.split(' ');
  const lines = [first];
  for (const word of words) {
    const line = lines[lines.length - 1];
    if (line.trim() === '' || line.length + 1 + word.length <= columns) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(indent + word);
  }
  return lines;
}

export function bold(text: string, screen: Screen): string {
  return screen.colors ? `\x1b[1m${text}\x1b[0m` : text;
}

export function dim(text: string, screen: Screen): string {
  return screen.colors ? `\x1b[2m${text}\x1b[0m` : text;
}

function shorten(column: Column, width: number): Column {
  const limit = Math.max(6, Math.floor(width));
  return {
    ...column,
    cells: column.cells.map((cell) => (cell.length > limit ? `${cell.slice(0, limit - 1)}…` : cell)),
  };
}

/** Columns of one group stay together, unless they are wider than the screen by themselves. */
function fold(columns: Column[], keys: Column[], room: number): Column[][] {
  const blocks: Column[][] = [];
  let block = [...keys];
  const groups = groupsOf(columns.filter(({ key }) => !key));
  for (const group of groups.flatMap((one) =>
    widthOf([...keys, ...one]) > room ? one.map((column) => [column]) : [one],
  )) {
    if (block.length > keys.length && widthOf([...block, ...group]) > room) {
      blocks.push(block);
      block = [...keys];
    }
    block.push(...group);
  }
  return [...blocks, block];
}

/** Runs of neighbours of the same group; a column without group is a run of its own. */
function groupsOf(columns: Column[]): Column[][] {
  const groups: Column[][] = [];
  for (const column of columns) {
    const last = groups.at(-1);
    if (last && column.group !== undefined && last[0].group === column.group) last.push(column);
    else groups.push([column]);
  }
  return groups;
}

function cellWidth({ title, cells }: Column): number {
  return Math.max(title.length, ...cells.map((cell) => cell.length));
}

function widthOf(columns: Column[]): number {
  return columns.reduce((sum, column) => sum + cellWidth(column), GAP * (columns.length - 1));
}

function drawBlock(columns: Column[], screen: Screen): string[] {
  const lines = [columns.map((column) => pad(column.title, column)).join(' '.repeat(GAP))];
  const groups = drawGroups(columns);
  if (groups.trim() !== '') lines.unshift(groups);
  const head = lines.map((line) => dim(line.trimEnd(), screen));
  const body = columns[0].cells.map((_, row) => drawRow(columns, row, screen));
  return [...head, ...body];
}

function drawRow(columns: Column[], row: number, screen: Screen): string {
  const cells = columns.map((column) => heated(pad(column.cells[row], column), column, row, screen));
  return cells.join(' '.repeat(GAP)).trimEnd();
}

/** The line above the titles: the name of each group over its columns, drawn out with dashes. */
function drawGroups(columns: Column[]): string {
  const cells = groupsOf(columns).map((group) => {
    const width = widthOf(group);
    const name = group[0].group;
    return name === undefined ? ' '.repeat(width) : `${name} `.padEnd(width, '─').slice(0, width);
  });
  return cells.join(' '.repeat(GAP)).trimEnd();
}

function pad(text: string, column: Column): string {
  const width = cellWidth(column);
  return column.align === 'left' ? text.padEnd(width) : text.padStart(width);
}

function heated(text: string, { heat }: Column, row: number, { colors }: Screen): string {
  if (!heat || !colors) return text;
  const low = Math.min(...heat.values);
  const high = Math.max(...heat.values);
  if (!(high > low)) return text;
  const way = (heat.values[row] - low) / (high - low);
  const worse = heat.best === 'low' ? way : 1 - way;
  const color = RAMP[Math.min(RAMP.length - 1, Math.floor(worse * RAMP.length))];
  return `\x1b[48;5;${color};38;5;${BLACK}m${text}\x1b[0m`;
}
