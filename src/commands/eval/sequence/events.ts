/**
 * Which frames and objects a number comes from: every stretch of frames in which a truth is missed or a track is false,
 * and every change of track, as rows for spreadsheets. Frames are numbered, or timed, as in the files.
 */

import type { Evaluation, Frame } from '../../../metric/evaluation.js';
import { csvField } from '../../console/output-file.js';

/** `missed`: a truth has no track; `false`: a track has no truth; `switch`: a truth is followed by another track. */
export interface JudgedEvent {
  event: 'missed' | 'false' | 'switch';
  /** first and last frame, by number or time */
  from: number;
  to: number;
  frames: number;
  truth: string;
  track: string;
  /** of a switch: the track before */
  before: string;
}

/** The events of an evaluation in the order in which they begin; `places` are the numbers or times of its frames. */
export function eventsOf(
  perFrame: Evaluation['perFrame'],
  frames: readonly Frame[],
  places: readonly number[],
): JudgedEvent[] {
  const events: JudgedEvent[] = [];
  const missed = new Stretches('missed', places, events);
  const falses = new Stretches('false', places, events);
  const held = new Map<string, string>();
  perFrame.forEach(({ assignment }, n) => {
    const partners = new Map<string, string>();
    for (const { truth, track, distance } of assignment) if (distance !== null) partners.set(truth, track);
    const followed = new Set(partners.values());
    missed.extend(
      n,
      ids(frames[n].reference).filter((id) => !partners.has(id)),
    );
    falses.extend(
      n,
      ids(frames[n].tracker).filter((id) => !followed.has(id)),
    );
    for (const [truth, track] of partners) {
      const before = held.get(truth);
      const place = places[n];
      if (before !== undefined && before !== track)
        events.push({ event: 'switch', from: place, to: place, frames: 1, truth, track, before });
      held.set(truth, track);
    }
  });
  return events.sort((a, b) => a.from - b.from);
}

const ids = (objects: Frame['reference']) => objects.map(({ id }) => id);

/** Neighbouring frames in which the same happens to an object are one event. */
class Stretches {
  readonly #open = new Map<string, { event: JudgedEvent; last: number }>();

  constructor(
    private readonly what: 'missed' | 'false',
    private readonly places: readonly number[],
    private readonly events: JudgedEvent[],
  ) {}

  extend(n: number, objects: readonly string[]): void {
    for (const id of objects) {
      const known = this.#open.get(id);
      if (known?.last === n - 1) {
        known.last = n;
        known.event.to = this.places[n];
        known.event.frames++;
        continue;
      }
      const place = this.places[n];
      const [truth, track] = this.what === 'missed' ? [id, ''] : ['', id];
      const event: JudgedEvent = { event: this.what, from: place, to: place, frames: 1, truth, track, before: '' };
      this.#open.set(id, { event, last: n });
      this.events.push(event);
    }
  }
}

const HEAD = 'class,sequence,tracker,profile,event,from,to,frames,truth,track,before';

/** What events belong to. */
export interface EventsOf {
  class?: string;
  sequence: string;
  tracker: string;
  profile: string;
  events: readonly JudgedEvent[];
}

export function eventsCsv(list: readonly EventsOf[]): string {
  const rows = list.flatMap(({ class: kind = '', sequence, tracker, profile, events }) =>
    events.map(({ event, from, to, frames, truth, track, before }) =>
      [kind, sequence, tracker, profile, event, from, to, frames, truth, track, before]
        .map((value) => csvField(String(value)))
        .join(','),
    ),
  );
  return `${[HEAD, ...rows].join('\n')}\n`;
}
