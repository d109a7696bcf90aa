/** The addresses of views, written and read. */
import type { SeriesId } from '../../wire/series-key.js';

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
  | { view: 'setup'; query: URLSearchParams }
  | { view: 'moment' }
  | { view: 'series'; id: SeriesId; k: number | null; at: string | null; with: string | null };

/** What an address stands for; anything unknown is the overview. */
export function routeOf(hash: string): Route {
  const [path, search = ''] = hash.replace(/^#/, '').split('?');
  const query = new URLSearchParams(search);
  const [, view, ...rest] = path.split('/');
  if (view === 'moment') return { view };
  if (view === 'events' || view === 'setup') return { view, query };
  const [stream, tracker, profile] = rest.map(safeDecode);
  if (view !== 's' || !profile) return { view: 'overview', query };
  const k = query.get('k');
  const wanted = k !== null && /^\d+$/.test(k) ? Number(k) : null;
  return { view: 'series', id: { stream, tracker, profile }, k: wanted, at: query.get('at'), with: query.get('with') };
}

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
