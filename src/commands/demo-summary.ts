/**
 * What the demo shows on a terminal: everything that happens, line by line, and below it one line that stays, with the
 * newest figures of both trackers. No line is wider than the screen. Where output is no terminal, the line of figures
 * comes every two seconds instead.
 */
import type { LiveEvent, ReportEvent } from '../wire/events.js';
import type { IncidentEvent } from '../wire/incidents.js';
import type { Console } from './console/console.js';
import { CLEAR_LINE } from './console/progress.js';
import { wrapText } from './console/table.js';

/** How often the figures are drawn, on a terminal and elsewhere. */
const REDRAW_MS = 200;
const LINE_MS = 2000;
/** of those that switch at one frame */
const SWITCHES_NAMED = 2;

type SwitchEvent = Extract<LiveEvent, { type: 'switch' }>;

export class DemoSummary {
  readonly #newest = new Map<string, ReportEvent>();
  readonly #switches = new Map<string, number>();
  /** causes of open incidents, as they were told */
  readonly #causes = new Map<string, string>();
  /** switches of one tracker at one frame, to be told together */
  #together: SwitchEvent[] = [];
  readonly #timer: NodeJS.Timeout;

  constructor(
    readonly trackers: readonly string[],
    readonly console: Console,
  ) {
    this.#timer = setInterval(() => this.#draw(), this.#inPlace ? REDRAW_MS : LINE_MS);
  }

  get #inPlace(): boolean {
    return this.console.scrolls === true;
  }

  apply(event: LiveEvent): void {
    if (event.type === 'report') {
      this.#newest.set(event.tracker, event);
      return;
    }
    if (event.type === 'switch') {
      this.#switches.set(event.tracker, (this.#switches.get(event.tracker) ?? 0) + event.switches);
      this.#gather(event);
      return;
    }
    this.#tellSwitches();
    const what = event.type === 'incident' ? this.#incident(event) : describe(event);
    if (what !== null) this.#tell(what);
  }

  #gather(event: SwitchEvent): void {
    const [first] = this.#together;
    if (first && (first.tracker !== event.tracker || first.k !== event.k)) this.#tellSwitches();
    this.#together.push(event);
  }

  /** What switched at one frame, in one line. */
  #tellSwitches(): void {
    const events = this.#together.splice(0);
    if (events.length === 0) return;
    const [{ tracker, k }] = events;
    const named = events
      .slice(0, SWITCHES_NAMED)
      .map(({ truth, from, to }) => `truth ${truth} switched from ${from ?? 'none'} to ${to ?? 'none'}`);
    const more = events.length > SWITCHES_NAMED ? `, ${events.length - SWITCHES_NAMED} more` : '';
    this.#tell(`${tracker}: ${named.join(', ')}${more}, frame ${k}`);
  }

  /** Once its cause has a name, when another one is likelier, and when it is over. */
  #incident({ tracker, phase, cause, message }: IncidentEvent): string | null {
    const known = this.#causes.get(tracker);
    if (phase === 'end') {
      this.#causes.delete(tracker);
      return `${tracker}: all is well again`;
    }
    // the first frames of an incident seldom show its cause; its spikes are told by themselves
    if (cause === 'unknown') return null;
    this.#causes.set(tracker, cause);
    const what = message.startsWith(`${cause}: `) ? message : `${cause}: ${message}`;
    return known === cause ? null : `INCIDENT ${tracker}, ${what}`;
  }

  /** One thing that happened; it scrolls up, the figures stay below it. */
  #tell(what: string): void {
    const { columns } = this.console.screen;
    const lines = wrapText(`${new Date().toTimeString().slice(0, 8)}  ${what}`, columns - 1, ' '.repeat(10));
    const text = `${lines.map((line) => line.slice(0, columns - 1)).join('\n')}\n`;
    this.console.out.write(this.#inPlace ? `${CLEAR_LINE}${text}` : text);
    if (this.#inPlace) this.#draw();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#tellSwitches();
    if (this.#inPlace && this.#newest.size > 0) this.console.out.write('\n');
  }

  #draw(): void {
    if (this.#newest.size === 0) return;
    this.#tellSwitches();
    const { columns } = this.console.screen;
    const figures = this.#figures(false);
    const forms = [this.#figures(true), figures, figures.replaceAll(' missed', ' m').replaceAll(' false', ' f')];
    const line = (forms.find((form) => form.length < columns) ?? forms[2]).slice(0, columns - 1);
    this.console.out.write(this.#inPlace ? `${CLEAR_LINE}${line}` : `${line}\n`);
  }

  /** The newest figures of all trackers; switches where there is room. */
  #figures(withSwitches: boolean): string {
    const k = Math.max(...[...this.#newest.values()].map((event) => event.k));
    const parts = this.trackers.flatMap((tracker) => {
      const event = this.#newest.get(tracker);
      if (!event) return [];
      const { distance, count, exact } = event.report;
      const switches = withSwitches ? `, ${this.#switches.get(tracker) ?? 0} switches` : '';
      return [
        `${tracker} ${exact ? '' : '<= '}${brief(distance)}: ${count.missed} missed, ${count.false} false${switches}`,
      ];
    });
    return [`frame ${k}`, ...parts].join(' | ');
  }
}

/** Three digits: 0.934, 12.4, 2.56k. */
const brief = (value: number) => (value < 1000 ? value.toPrecision(3) : `${Number((value / 1000).toPrecision(3))}k`);

const short = (value: number) => String(Number(value.toPrecision(2)));

/** An event in a few words; null for those that are not worth a line. */
function describe(event: LiveEvent): string | null {
  switch (event.type) {
    case 'spike': {
      const { tracker, signal, phase, k, expected, observed } = event;
      if (phase === 'end') return `${tracker}: ${signal} is as usual again`;
      return phase === 'start'
        ? `SPIKE ${tracker} ${signal}: ${short(observed)}, usual ${short(expected)}, since frame ${k}`
        : null;
    }
    case 'silence':
      return `${event.tracker ?? 'reference'} ${event.over ? 'is back' : 'is silent'}`;
    default:
      return null;
  }
}
