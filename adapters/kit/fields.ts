/**
 * Reads fields of foreign JSON: each function gives a value of the right type or throws a Mistake that names path,
 * value and expectation. Paths are made only when something is wrong, so that right messages cost nothing extra.
 */

import { TIME_MAX_SECONDS } from '../../src/wire/frame-check.js';
import { Mistake, type Stamp } from './adapter.js';

export type Fields = Record<string, unknown>;

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A message of a JSON format: the value itself, or the text of one. */
export function jsonOf(message: unknown): unknown {
  if (typeof message !== 'string') return message;
  try {
    return JSON.parse(message);
  } catch (error) {
    throw new Mistake('', message, `must be JSON: ${(error as Error).message.slice(0, 120)}`, 'json_invalid');
  }
}

export function fieldsOf(value: unknown, path = ''): Fields {
  if (!isFields(value)) throw new Mistake(path, value, 'must be an object');
  return value;
}

/** The object under a key. */
export function inner(from: Fields, key: string): Fields {
  const value = from[key];
  if (!isFields(value)) throw new Mistake(key, value, 'must be an object');
  return value;
}

/** The list under a key. */
export function list(from: Fields, key: string): unknown[] {
  const value = from[key];
  if (!Array.isArray(value)) throw new Mistake(key, value, 'must be a list');
  return value;
}

/** Calls `use` for every element; mistakes in it are told with its place. */
export function each(items: unknown[], path: string, use: (item: unknown, index: number) => void): void {
  let index = 0;
  try {
    for (; index < items.length; index++) use(items[index], index);
  } catch (error) {
    throw error instanceof Mistake ? error.within(`${path}[${index}]`) : error;
  }
}

/** Calls `use`; mistakes in it are told under a path. */
export function under<R>(path: string, use: () => R): R {
  try {
    return use();
  } catch (error) {
    throw error instanceof Mistake ? error.within(path) : error;
  }
}

export function number(from: Fields, key: string): number {
  const value = from[key];
  if (typeof value !== 'number' || !Number.isFinite(value)) throw new Mistake(key, value, 'must be a finite number');
  return value;
}

/** A number, or undefined where it is absent or null. */
export function optionalNumber(from: Fields, key: string): number | undefined {
  const value = from[key];
  return value === undefined || value === null ? undefined : number(from, key);
}

export function text(from: Fields, key: string): string {
  const value = from[key];
  if (typeof value !== 'string') throw new Mistake(key, value, 'must be text');
  return value;
}

/** Text, or undefined where it is absent, null or empty. */
export function optionalText(from: Fields, key: string): string | undefined {
  const value = from[key];
  return value === undefined || value === null || value === '' ? undefined : text(from, key);
}

/** An id as text. A number beyond 2^53 has lost digits on its way, and a fraction was never an id. */
export function identity(value: unknown, path: string): string {
  if (typeof value === 'string' && value.length > 0) return value;
  if (Number.isSafeInteger(value)) return String(value);
  throw new Mistake(
    path,
    value,
    typeof value === 'number'
      ? 'must be a whole number below 2^53 as id; send larger ones as text, they lose digits as JSON numbers'
      : 'must be an id: text, or a whole number',
  );
}

const WHOLE = /^\d{1,15}$/;

/** A frame number: a whole number from 0, or the text of one. */
export function frameNumber(value: unknown, path: string): number {
  const frame = typeof value === 'string' && WHOLE.test(value) ? Number(value) : value;
  if (!Number.isSafeInteger(frame) || (frame as number) < 0)
    throw new Mistake(path, value, 'must be a frame number: a whole number from 0');
  return frame as number;
}

const HAS_ZONE = /(Z|[+-]\d\d:?\d\d)$/;
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/;

/**
 * Seconds since 1970 of an ISO 8601 date and time with a zone, or in `zone` where it has none; fractions of any length.
 */
export function isoSeconds(given: unknown, path: string, zone = ''): number {
  const value = typeof given === 'string' && !HAS_ZONE.test(given) ? given + zone : given;
  if (typeof value === 'string' && ISO.test(value)) {
    const dot = value.indexOf('.');
    const end = value.search(HAS_ZONE);
    const whole = Date.parse(dot < 0 ? value : value.slice(0, dot) + value.slice(end)) / 1000;
    const seconds = dot < 0 ? whole : whole + Number(`0${value.slice(dot, end)}`);
    if (seconds >= 0) return seconds;
  }
  throw new Mistake(path, given, 'must be a date and time with a zone, such as 2026-04-11T04:59:59.828Z');
}

/** A time after an offset, within what frames may have; `value` is how it came. */
export function timeWithin(seconds: number, path: string, value: unknown): number {
  if (seconds >= 0 && seconds <= TIME_MAX_SECONDS) return seconds;
  throw new Mistake(path, value, `must be a time from 0 to ${TIME_MAX_SECONDS} seconds, after any timeOffset`);
}

/** The frame number and time that came beside a message of a format that has none. */
export function needStamp(stamp: Stamp | undefined): Stamp {
  if (stamp === undefined || (stamp.k === undefined && stamp.t === undefined))
    throw new Mistake('', undefined, 'this format has no frame number of its own: send k or t (seconds) beside it');
  return stamp;
}

/** For formats that number their frames themselves. */
export function refuseStamp(stamp: Stamp | undefined): void {
  if (stamp?.k !== undefined || stamp?.t !== undefined)
    throw new Mistake('', stamp, 'this format numbers its frames itself; leave out k and t beside the message');
}
