/** Numbers, times and names as people read them, and the addresses of views. */

export const COMPONENTS = ['localization', 'missed', 'false', 'switch'] as const;
export type Component = (typeof COMPONENTS)[number];
export type Costs = Record<Component, number>;

export interface SeriesId {
  stream: string;
  tracker: string;
  profile: string;
}

/** Names have no line breaks. */
export const keyOf = ({ stream, tracker, profile }: SeriesId) => `${stream}\n${tracker}\n${profile}`;

/** Four significant digits at most; never in exponents where people would not expect them. */
export function number(value: number): string {
  if (!Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  if (size === 0) return '0';
  if (size >= 1e6 || size < 1e-3) return value.toExponential(2);
  return value.toFixed(size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : size >= 1 ? 3 : 4);
}

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

export function seriesLink(id: SeriesId, options: { k?: number; with?: string } = {}): string {
  const query = new URLSearchParams();
  if (options.k !== undefined) query.set('k', String(options.k));
  if (options.with) query.set('with', options.with);
  const path = [id.stream, id.tracker, id.profile].map(encodeURIComponent).join('/');
  return `#/s/${path}${query.size > 0 ? `?${query}` : ''}`;
}

export type Route =
  | { view: 'overview'; query: URLSearchParams }
  | { view: 'events'; query: URLSearchParams }
  | { view: 'series'; id: SeriesId; k: number | null; with: string | null };

/** What an address stands for; anything unknown is the overview. */
export function routeOf(hash: string): Route {
  const [path, search = ''] = hash.replace(/^#/, '').split('?');
  const query = new URLSearchParams(search);
  const [, view, ...rest] = path.split('/');
  if (view === 'events') return { view, query };
  const [stream, tracker, profile] = rest.map(safeDecode);
  if (view !== 's' || !profile) return { view: 'overview', query };
  const k = query.get('k');
  const wanted = k !== null && /^\d+$/.test(k) ? Number(k) : null;
  return { view: 'series', id: { stream, tracker, profile }, k: wanted, with: query.get('with') };
}

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
