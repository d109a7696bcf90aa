/**
 * What each class of a series cost and counted so far, over settled frames: where only objects of one class are pairs,
 * the classes add up to the settled totals of the series. A truth stands under its own class, whether it is missed,
 * paired or switches; a false track under its. Classes beyond `namesMax` stand together under `other`.
 */
import type { FrameCost, SwitchEvent } from '../metric/evaluation.js';
import type { Params } from '../metric/params.js';
import type { SettledFrame } from '../metric/sliding-window.js';
import type { ClassTotal, ClassTotals } from '../wire/events.js';

/** Of objects without a class. */
const NONE = 'none';
const OTHER = 'other';

const copyOf = ({ count, cost }: ClassTotal): ClassTotal => ({ count: { ...count }, cost: { ...cost } });

type Feed = SettledFrame['objects']['reference'];

export class ClassLedger {
  readonly #totals = new Map<string, ClassTotal>();
  readonly #prices: { missed: number; false: number; switch: number };
  readonly #admissibleError: number;
  #reading: ClassTotals | null = null;

  constructor(
    readonly namesMax: number,
    private readonly params: Params,
    stored: ClassTotals = {},
  ) {
    const { cutoff, exponent, switchPenalty, missShare = 0.5 } = params;
    const unit = cutoff ** exponent;
    this.#prices = { missed: missShare * unit, false: (1 - missShare) * unit, switch: switchPenalty ** exponent };
    this.#admissibleError = cutoff / 2 ** (1 / exponent);
    for (const [name, total] of Object.entries(stored)) this.#totals.set(name, copyOf(total));
  }

  /** Adds frames that have settled, and the switches on the way into them. */
  add(frames: readonly SettledFrame[], switches: readonly SwitchEvent[]): void {
    if (frames.length === 0) return;
    this.#reading = null;
    for (const frame of frames) this.#addFrame(frame);
    for (const event of switches) this.#addSwitch(event, frames);
  }

  /** So far, by class; the same object until something is added. */
  get reading(): ClassTotals {
    this.#reading ??= Object.fromEntries([...this.#totals].map(([name, total]) => [name, copyOf(total)]));
    return this.#reading;
  }

  #addFrame({ objects, pairs }: SettledFrame): void {
    const { reference, tracker } = objects;
    const truths = new Map(pairs.map(({ truth, distance }) => [truth, distance]));
    const tracks = new Set(pairs.map(({ track }) => track));
    reference.ids.forEach((id, n) => {
      const distance = truths.get(id);
      if (distance === undefined) this.#addAlone('missed', reference, n);
      else {
        const { count, cost } = this.#total(reference.kinds?.[n]);
        count.proper++;
        cost.localization += distance ** this.params.exponent;
      }
    });
    tracker.ids.forEach((id, n) => {
      if (!tracks.has(id)) this.#addAlone('false', tracker, n);
    });
  }

  #addAlone(component: 'missed' | 'false', { alone, kinds }: Feed, n: number): void {
    const share = alone ? Math.min(1, (alone[n] / this.#admissibleError) ** this.params.exponent) : 1;
    if (share === 0) return;
    const { count, cost } = this.#total(kinds?.[n]);
    count[component]++;
    cost[component] += share * this.#prices[component];
  }

  /** A truth that is gone gives its track up to another of the same class. */
  #addSwitch({ frame, truth, from, switches }: SwitchEvent, frames: readonly SettledFrame[]): void {
    const { reference, tracker } = frames.find(({ number }) => number === frame)!.objects;
    const at = reference.ids.indexOf(truth);
    const kind = at >= 0 ? reference.kinds?.[at] : tracker.kinds?.[tracker.ids.indexOf(from ?? '')];
    const { count, cost } = this.#total(kind);
    count.switches += switches;
    cost.switch += switches * this.#prices.switch;
  }

  #total(kind: string | null | undefined): ClassTotal {
    const name = kind ?? NONE;
    const known = this.#totals.get(name);
    if (known) return known;
    if (this.#totals.size >= this.namesMax && name !== OTHER) return this.#total(OTHER);
    const cost: FrameCost = { localization: 0, missed: 0, false: 0, switch: 0 };
    const total: ClassTotal = { count: { proper: 0, missed: 0, false: 0, switches: 0 }, cost };
    this.#totals.set(name, total);
    return total;
  }
}
