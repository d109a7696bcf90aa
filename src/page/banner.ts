/**
 * What is wrong when figures do not simply arrive, and what to do about it. One banner at a time, the most serious
 * first.
 */
import type { Finding } from '../wire/findings.js';
import type { SeriesId } from '../wire/series-key.js';
import type { StreamSummary } from './data/api.js';
import type { Board } from './data/board.js';
import type { LiveSeries } from './data/live-series.js';
import { h, setText } from './kit/dom.js';
import { duration, number } from './kit/format.js';
import type { Liveness } from './scene/transport.js';

export interface State {
  name: string;
  grave: boolean;
  title: string;
  text: string;
  code?: string;
}

const SLOW_MS = 10_000;

/** The state of the whole page; null when all is well. */
export function boardState(board: Board): State | null {
  if (board.tokenNeeded) return null;
  const { connection } = board;
  if (connection && !connection.open) {
    const seconds = Math.max(0, Math.ceil((connection.retryAtMs - Date.now()) / 1000));
    return {
      name: 'gone',
      grave: true,
      title: 'The evaluator is not responding.',
      text: `You are looking at the last figures received. Trying again ${seconds > 0 ? `in ${seconds} s` : 'now'}. Check that tgospa serve is running and can be reached from this computer.`,
    };
  }
  if (board.loaded && board.reasons.length > 0) return notReadyState(board.reasons);
  if (!board.loaded || board.series.size > 0) return null;
  const waiting = [...board.streams.values()].find(({ feeds }) => feeds.length > 0);
  return waiting ? halfState(waiting) : emptyState();
}

/** It answers, but does not take frames: it recovers, its disk is full, it stops. */
function notReadyState(reasons: string[]): State {
  const recovering = reasons.some((reason) => reason.startsWith('recovering'));
  const text = reasons.map((reason) => sentence(reason)).join(' ');
  return recovering
    ? {
        name: 'recovering',
        grave: false,
        title: 'The evaluator is starting.',
        text: `${text} Streams appear as they are recovered; senders keep their frames until then.`,
      }
    : { name: 'not-ready', grave: true, title: 'The evaluator is not accepting frames.', text };
}

function emptyState(): State {
  const { host, protocol } = location;
  const url = `${protocol.replace('http', 'ws')}//${host}/v1/ingest`;
  return {
    name: 'empty',
    grave: false,
    title: 'No feed has sent anything yet.',
    text: 'Send the reference and a tracker of one stream, each over its own WebSocket, starting like this:',
    code: `${url}\n-> {"type":"hello","stream":"gate-7","role":"reference"}\n-> {"type":"frame","seq":1,"k":1,"objects":[{"id":"p1","box":[910,482,98,110]}]}`,
  };
}

function halfState({ stream, feeds }: StreamSummary): State {
  const hasReference = feeds.some(({ role }) => role === 'reference');
  return {
    name: 'half',
    grave: false,
    title: hasReference
      ? `Stream ${stream} has a reference, but no tracker yet.`
      : `Stream ${stream} has a tracker, but no reference yet.`,
    text: hasReference
      ? 'Connect a tracker with "role":"tracker" and its name. It is judged from its first frame.'
      : 'Connect what is to be believed (annotations, transponders, a second tracker) with "role":"reference". Judging starts with its first frame.',
  };
}

/** Whether following these series means to see new frames. */
export function liveness(board: Board, series: LiveSeries[]): Liveness {
  if (!board.connection?.open) return board.connection === null ? 'connecting' : 'not connected';
  if (series.some(({ connection }) => connection && !connection.open)) return 'not connected';
  if (series.some(({ fault, report }) => fault?.code === 'not_found' && !report)) return 'no such series';
  for (const { id } of series) {
    const stream = board.streams.get(id.stream);
    const own = stream?.feeds.find(({ tracker }) => tracker === id.tracker);
    if (stream?.suspended !== undefined) return 'suspended';
    if (own?.ended) return 'feed ended';
    if (stream?.resuming) return 'waiting for feeds';
    if (stream?.feeds.some((feed) => feed.silent && (feed.role === 'reference' || feed === own))) return 'silent';
  }
  return series.every(({ report }) => report) ? 'live' : 'connecting';
}

/** The state of one series; null when all is well. */
export function seriesState(board: Board, series: LiveSeries, id: SeriesId): State | null {
  const stream = board.streams.get(id.stream);
  const reference = stream?.feeds.find(({ role }) => role === 'reference');
  const tracker = stream?.feeds.find((one) => one.tracker === id.tracker);
  const [finding] = board.findingsOf(id);
  if (!series.report && series.fault && !series.frames && !finding) return missingState(series.fault, stream, id);
  if (finding) return findingState(finding);
  if (stream?.resuming) return resumingState(stream);
  const since = (ms: number) => (ms > 0 ? ` for ${duration(board.ageMs(ms))}` : '');
  if (reference?.silent)
    return {
      name: 'reference-silent',
      grave: true,
      title: `The reference of ${id.stream} has been silent${since(reference.lastReceivedMs)}.`,
      text: 'Nothing can be judged without it: the figures are those of its last frame. Check the process that sends the reference. Judging resumes with its next frame.',
    };
  if (tracker?.silent)
    return {
      name: 'tracker-silent',
      grave: true,
      title: `Tracker ${id.tracker} has been silent${since(tracker.lastReceivedMs)}.`,
      text: 'The reference is still sending, so everything in it counts as missed. Check the tracker and its connection.',
    };
  if (stream?.suspended !== undefined)
    return {
      name: 'suspended',
      grave: true,
      title: `Stream ${id.stream} is not judged.`,
      text: `${sentence(stream.suspended)} Its frames are stored and judged after the next start.`,
    };
  if (performance.now() - series.skippedAtMs < SLOW_MS)
    return {
      name: 'slow',
      grave: false,
      title: 'This page cannot keep up.',
      text: `${series.skipped} reports were skipped so far. Frames are missing on this page only; the evaluation has all of them. Close other tabs, hide trails and ids, or use a faster connection.`,
    };
  if (series.report && !series.report.window.exact)
    return {
      name: 'uncertified',
      grave: false,
      title: 'The figures are not proven.',
      text: `The solve was cut, and the true cost may be up to ${number(series.report.window.gap * 100)} % lower. Frames that are due meanwhile are not judged: counters, events and spikes leave them out. evaluation.budgetMs and evaluation.workers give more time.`,
    };
  if (tracker?.ended)
    return {
      name: 'ended',
      grave: false,
      title: `Tracker ${id.tracker} has ended its feed.`,
      text: 'These are its last frames, all settled. A new run starts when it connects again and sends a frame.',
    };
  return null;
}

function resumingState({ stream, feeds }: StreamSummary): State {
  const absent = feeds.filter(({ awaited }) => awaited);
  const names = absent.map(({ role, tracker }) => (role === 'reference' ? 'its reference' : `tracker ${tracker}`));
  return {
    name: 'resuming',
    grave: false,
    title: `Stream ${stream} is waiting for ${names.length > 0 ? names.join(' and ') : 'its feeds to catch up'}.`,
    text: 'A connection was cut, or the evaluator was away. Frames are judged once they have been sent again; after pairing.resumeMs the usual lateness counts.',
  };
}

/** Figures that arrive and mean nothing, because the feeds are connected wrongly. */
function findingState({ finding, message, remedy }: Finding): State {
  return {
    name: 'finding',
    grave: true,
    title: `The feeds do not fit together (${finding}).`,
    text: `${sentence(message)} What to do: ${sentence(remedy, false)}`,
  };
}

function sentence(text: string, capital = true): string {
  return `${capital ? text[0].toUpperCase() + text.slice(1) : text}.`;
}

function missingState(
  fault: { code: string; message: string },
  stream: StreamSummary | undefined,
  id: SeriesId,
): State {
  if (fault.code !== 'not_found')
    return { name: 'fault', grave: true, title: 'The evaluator refused this request.', text: fault.message };
  const known = stream?.series.some(({ tracker, profile }) => tracker === id.tracker && profile === id.profile);
  return known
    ? {
        name: 'no-frames',
        grave: false,
        title: 'No frame has been judged yet.',
        text: 'A frame is judged once the reference and the tracker have both sent it, or one of them is late. Check that both use the same frame numbers, or times within the tolerance.',
      }
    : {
        name: 'unknown',
        grave: false,
        title: `There is no series ${id.stream} / ${id.tracker} / ${id.profile}.`,
        text: 'It may have been retired, or it never existed. The overview lists all series.',
      };
}

/** Shows the state; screen readers announce it when it changes. */
export class Banner {
  #title = h('strong');
  #text = h('span');
  #code = h('pre', { class: 'yaml', tabIndex: 0 });
  readonly element = h(
    'div',
    { class: 'banner', role: 'status', hidden: true },
    this.#title,
    ' ',
    this.#text,
    this.#code,
  );

  show(state: State | null): void {
    const { element } = this;
    element.hidden = state === null;
    element.dataset.state = state?.name ?? '';
    element.classList.toggle('grave', state?.grave ?? false);
    setText(this.#title, state?.title ?? '');
    setText(this.#text, state?.text ?? '');
    setText(this.#code, state?.code ?? '');
    this.#code.hidden = !state?.code;
  }
}
