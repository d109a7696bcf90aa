/**
 * `npm run bench -- kernel [--quick] [--only PART]`: both engines and the rule between them on everything the kernel is
 * measured on, what a push costs besides solving, and pushes against cold solves. PART is engines, resources,
 * budgets or cold, or a part of a scene's name. The last line is the whole result as JSON.
 */

import { parseArgs } from 'node:util';
import { budgetRows } from './kernel/budgets.js';
import { coldTables } from './kernel/cold-solves.js';
import { compareEngines, type EngineRow } from './kernel/engines.js';
import { RESOURCE_SOURCES, resourceRow } from './kernel/resources.js';
import { scenes } from './kernel/scenes.js';

const BAR = 30;

/** A bar on a terminal, a line per row elsewhere. */
function progressOf(name: string, row: number, rows: number): (share: number) => void {
  if (!process.stderr.isTTY) {
    console.error(`${row + 1} of ${rows}: ${name}`);
    return () => {};
  }
  let shown = -1;
  return (share) => {
    const filled = Math.floor((BAR * (row + share)) / rows);
    if (filled === shown) return;
    shown = filled;
    process.stderr.write(`\r[${'#'.repeat(filled)}${' '.repeat(BAR - filled)}] ${name.padEnd(50)}`);
    if (share === 1 && row + 1 === rows) process.stderr.write('\n');
  };
}

function engineTable(quick: boolean, only: string | undefined): EngineRow[] {
  const chosen = scenes(quick).filter(({ name }) => only === undefined || name.includes(only));
  const rows = chosen.map((scene, n) => compareEngines(scene, progressOf(scene.name, n, chosen.length)));
  console.log(
    'milliseconds of processor time per push; the frontier alone gives up where its states grow without end:',
  );
  console.table(rows);
  return rows;
}

function resourceTable() {
  const rows = RESOURCE_SOURCES.map((name, n) => {
    progressOf(`a push besides solving: ${name}`, n, RESOURCE_SOURCES.length)(1);
    return resourceRow(name);
  });
  console.log('online-surveillance, window 60: against a hand-written floor, bytes, warm-up:');
  console.table(rows);
  return rows;
}

function budgetTable(quick: boolean) {
  const rows = budgetRows(quick, (name, row, count) => progressOf(name, row, count)(1));
  console.log('a budget of 20 ms in crowds: milliseconds of processor time per push');
  console.table(rows);
  return rows;
}

const { quick = false, only } = parseArgs({ options: { quick: { type: 'boolean' }, only: { type: 'string' } } }).values;
const PARTS = ['engines', 'resources', 'budgets', 'cold'];
const scene = only === undefined || PARTS.includes(only) ? undefined : only;
const wanted = (part: string) => only === undefined || only === part || (part === 'engines' && scene !== undefined);
console.log(
  JSON.stringify({
    quick,
    ...(wanted('engines') && { engines: engineTable(quick, scene) }),
    ...(wanted('resources') && { resources: resourceTable() }),
    ...(wanted('budgets') && { budgets: budgetTable(quick) }),
    ...(wanted('cold') && { cold: coldTables(quick) }),
  }),
);
