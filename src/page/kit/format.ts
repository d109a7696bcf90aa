/** Numbers, times and names as people read them. */
import { type SeriesId, seriesKey } from '../../wire/series-key.js';

export const keyOf = ({ stream, tracker, profile }: SeriesId) => seriesKey(stream, tracker, profile);

/** Three significant digits, thousands as k and M; never in exponents where people would not expect them. */
export function number(value: number): string {
  if (!Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  if (size === 0) return '0';
  if (size >= 999_500_000 || size < 1e-3) return value.toExponential(1);
  if (size >= 999_500) return `${three(value / 1e6)}M`;
  return size >= 9_995 ? `${three(value / 1000)}k` : three(value);
}

function three(value: number): string {
  const size = Math.abs(value);
  return value.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3);
}

/** Two significant digits, where two are enough. */
export function brief(value: number): string {
  if (!Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  if (size < 0.005) return '0';
  if (size >= 9.95) return size >= 99_950 ? value.toExponential(1) : String(Math.round(value));
  return String(Number(value.toPrecision(2)));
}

/** What a base distance is measured in; nothing where it is a share. */
export const unitOf = (distance: string | undefined) =>
  distance === 'geodesic' ? 'm' : distance === 'hausdorff' || distance === 'wasserstein' ? 'px' : '';

/** Counts, among them halves of switches. */
export const count = (value: number) => (Number.isInteger(value) ? String(value) : value.toFixed(1));

export function duration(ms: number): string {
  if (!(ms >= 0)) return '0 s';
  if (ms < 950) return `${Math.round(ms / 10) * 10} ms`;
  if (ms < 9950) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 90_000) return `${Math.round(ms / 1000)} s`;
  if (ms < 5_400_000) return `${Math.round(ms / 60_000)} min`;
  return ms < 172_800_000 ? `${Math.round(ms / 3_600_000)} h` : `${Math.round(ms / 86_400_000)} d`;
}

export const clock = (ms: number) =>
  new Date(ms).toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false });

/** Day, time and zone, as in `2026-11-17 21:03:12 UTC+1`. */
export function moment(ms: number): string {
  const date = new Date(ms);
  const two = (value: number) => String(value).padStart(2, '0');
  const minutes = -date.getTimezoneOffset();
  const rest = Math.abs(minutes) % 60;
  const zone = `UTC${minutes === 0 ? '' : `${minutes < 0 ? '-' : '+'}${Math.floor(Math.abs(minutes) / 60)}${rest ? `:${two(rest)}` : ''}`}`;
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${clock(ms)} ${zone}`;
}

/** What somebody typed: a frame, a time of today, or a date with a time; null when it is none of them. */
export function momentOf(text: string, nowMs: number): { k: number } | { at: number } | null {
  if (/^\d+$/.test(text)) return { k: Number(text) };
  if (/^\d{1,2}:\d{2}(:\d{2})?$/.test(text)) {
    const [hours, minutes, seconds = 0] = text.split(':').map(Number);
    const at = new Date(nowMs).setHours(hours, minutes, seconds, 0);
    // a time that is still to come was yesterday
    return { at: at > nowMs ? at - 86_400_000 : at };
  }
  const at = Date.parse(text.replace(/ UTC$/, 'Z').replace(/^(\d{4}-\d{2}-\d{2}) /, '$1T'));
  return Number.isNaN(at) ? null : { at };
}
