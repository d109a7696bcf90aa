/**
 * Time drawn as text, for tests of pairing: one column is 10 milliseconds. A number is a part with that frame number,
 * several in one column are joined by commas, `.` is nothing, `|` the end of a feed. In the row `step`, `3` is a step
 * judged with tracks and `3!` one without: everything missed.
 */
import assert from 'node:assert/strict';
import type { PairingSettings } from '../../src/config/config.js';
import { Pairing } from '../../src/stream/pairing/pairing.js';
import type { Outcome, Step } from '../../src/stream/pairing/step.js';
import type { Role } from '../../src/wire/feed.js';
import { type FeedPart, pack, type WireObject } from '../../src/wire/objects.js';
import { pairingSettings, reportSettings } from './settings.js';

/** A pairing with these settings, and the usual ones otherwise. */
export const newPairing = (settings: Partial<PairingSettings> = {}, geodetic = false): Pairing =>
  new Pairing(pairingSettings(settings), reportSettings(), geodetic);

/** It, read back from what it stores. */
export const restored = (state: unknown, settings: Partial<PairingSettings> = {}): Pairing =>
  Pairing.fromJSON(JSON.parse(JSON.stringify(state)), pairingSettings(settings), reportSettings());

export const COLUMN_MS = 10;
export const START_MS = 1_000_000;

export const box = (id: string, left = 0): WireObject => ({ id, box: [left, 0, 10, 10] });

export const partAt = (k: number, extra: Partial<FeedPart> = {}): FeedPart => ({
  seq: 1,
  k,
  objects: pack([box(`o${k}`)]),
  ...extra,
});
/** By time: the number is the time in columns since the start. */
export const timedPart = (column: number, objects = [box('a', column)]): FeedPart => ({
  seq: 1,
  t: (START_MS + column * COLUMN_MS) / 1000,
  objects: pack(objects),
});

export interface Played {
  rows: Record<string, string>;
  outcomes: Outcome[];
  notes: string[];
  pairing: Pairing;
}

/** Plays a drawing. The row `reference` is the reference, other rows are trackers; all say hello first. */
export function play(
  settings: Partial<PairingSettings>,
  drawing: string,
  toPart: (value: number) => FeedPart = (k) => partAt(k),
  between: (pairing: Pairing) => Pairing = (p) => p,
): Played {
  const rows = drawing
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .map(([name, ...cells]) => ({ name, cells }));
  let pairing = newPairing(settings);
  const outcomes: Outcome[] = [];
  const columns = Math.max(...rows.map((r) => r.cells.length));
  const drawn = new Map<string, string[]>();
  const notes: string[] = [];
  const record = (column: number, list: Outcome[]) => {
    for (const outcome of list) {
      outcomes.push(outcome);
      if (outcome.type === 'step') draw(drawn, `step ${outcome.tracker}`, column, stepText(outcome));
      else notes.push(`${column} ${noteText(outcome)}`);
    }
  };
  for (const { name } of rows)
    record(0, name === 'reference' ? pairing.openReference(START_MS) : pairing.openTracker(name, START_MS));
  for (let column = 0; column < columns; column++) {
    const now = START_MS + column * COLUMN_MS;
    record(column, pairing.advance(now));
    for (const { name, cells } of rows) {
      const role: Role = name === 'reference' ? 'reference' : 'tracker';
      for (const mark of (cells[column] ?? '.').split(',')) {
        if (mark === '|') record(column, pairing.end(role, name, now));
        else if (mark !== '.') record(column, pairing.push(role, name, toPart(Number(mark)), now));
      }
    }
    if (pairing.deadline() <= now) record(column, pairing.advance(now));
    pairing = between(pairing);
  }
  const text = (cells: string[]) => Array.from({ length: columns }, (_, n) => cells[n] ?? '.').join(' ');
  return {
    rows: Object.fromEntries([...drawn].map(([name, cells]) => [name, text(cells)])),
    outcomes,
    notes,
    pairing,
  };
}

function draw(drawn: Map<string, string[]>, row: string, column: number, mark: string): void {
  const cells = drawn.get(row) ?? [];
  cells[column] = cells[column] ? `${cells[column]},${mark}` : mark;
  drawn.set(row, cells);
}

export const stepText = (step: Step) => `${step.k}${step.tracks.ids.length === 0 ? '!' : ''}`;

function noteText(outcome: Exclude<Outcome, Step>): string {
  if (outcome.type === 'finished') return `finished ${outcome.tracker}`;
  const feed = outcome.tracker ?? 'reference';
  if (outcome.type === 'silence') return `${feed} ${outcome.over ? 'heard again' : 'silent'}`;
  if (outcome.type === 'untaken') return `${outcome.rule} ${feed} x${outcome.count}`;
  return `${outcome.type} ${feed}${outcome.k === undefined ? '' : ` ${outcome.k}`}${outcome.count === 1 ? '' : ` x${outcome.count}`}`;
}

export const squeeze = (text: string) => text.trim().replace(/\s+/g, ' ');

/** Checks the row of steps of tracker `t`, and the notes. */
export function expectSteps(played: Played, steps: string, notes: string[] = [], tracker = 't'): void {
  assert.equal(played.rows[`step ${tracker}`] ?? '', squeeze(steps));
  assert.deepEqual(played.notes, notes);
}
