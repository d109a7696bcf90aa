/**
 * Where the objects of a glance are, for those who look at frames: every truth walks straight on and turns back at the
 * edge of the scene, its track lies as far from it as the glance says, in a direction that changes little by little,
 * and what is false stands somewhere. Seeded, by itself, so that glances are the same with it and without.
 */
import type { Glance } from '../../src/metric/evaluation.js';
import type { FrameView } from '../../src/metric/window/frame-view.js';
import { Chance } from './spike-scene.js';

interface Walk {
  x: number;
  y: number;
  /** per second */
  vx: number;
  vy: number;
  /** where the track lies from the truth, as an angle, and the frame in which it was last there */
  angle: number;
  seen: number;
}

/** in units of the cut-off, which is 0.5: a wide scene, and objects that move by half an error in a frame */
const SIZE = 100;
const SPEED_MAX = 1;
const TURN = 0.5;
const FRAMES = 60;
const FORGET_FRAMES = 600;

export class Places {
  /** frames by which all tracks are late */
  late = 0;
  readonly #chance: Chance;
  readonly #walks = new Map<string, Walk>();
  readonly #false = new Map<string, Walk>();
  readonly #frames: FrameView[] = [];
  #frame = 0;

  constructor(seed: number) {
    this.#chance = new Chance(seed);
  }

  frames(): readonly FrameView[] {
    return this.#frames;
  }

  /** Adds a frame that lasts `seconds`. */
  add({ properTruths, properTracks, errors, missed, false: falses }: Glance, seconds: number): void {
    this.#frame++;
    const truths = [...properTruths, ...missed];
    const tracks = [...properTracks, ...falses];
    const [reference, tracker] = [new Float64Array(2 * truths.length), new Float64Array(2 * tracks.length)];
    truths.forEach((id, n) => {
      const walk = this.#move(id, seconds);
      reference.set([walk.x, walk.y], 2 * n);
      if (n >= properTruths.length) return;
      const back = this.late * seconds;
      const [dx, dy] = [errors[n] * Math.cos(walk.angle), errors[n] * Math.sin(walk.angle)];
      tracker.set([walk.x - back * walk.vx + dx, walk.y - back * walk.vy + dy], 2 * n);
    });
    falses.forEach((id, n) => {
      const { x, y } = this.#walk(this.#false, id);
      tracker.set([x, y], 2 * (properTracks.length + n));
    });
    this.#frames.push({
      reference: { ids: truths, coordinates: reference },
      tracker: { ids: tracks, coordinates: tracker },
      stride: 2,
    });
    if (this.#frames.length > FRAMES) this.#frames.shift();
    if (this.#frame % FORGET_FRAMES === 0) this.#forget();
  }

  #move(id: string, seconds: number): Walk {
    const walk = this.#walk(this.#walks, id);
    walk.x += walk.vx * seconds;
    walk.y += walk.vy * seconds;
    if (walk.x < 0 || walk.x > SIZE) walk.vx = -walk.vx;
    if (walk.y < 0 || walk.y > SIZE) walk.vy = -walk.vy;
    walk.angle += TURN * (this.#chance.next() - 0.5);
    return walk;
  }

  #walk(walks: Map<string, Walk>, id: string): Walk {
    const chance = this.#chance;
    let walk = walks.get(id);
    if (!walk) {
      const [vx, vy] = [SPEED_MAX * (2 * chance.next() - 1), SPEED_MAX * (2 * chance.next() - 1)];
      walk = { x: SIZE * chance.next(), y: SIZE * chance.next(), vx, vy, angle: 2 * Math.PI * chance.next(), seen: 0 };
      walks.set(id, walk);
    }
    walk.seen = this.#frame;
    return walk;
  }

  #forget(): void {
    for (const walks of [this.#walks, this.#false])
      for (const [id, { seen }] of walks) if (seen < this.#frame - FORGET_FRAMES) walks.delete(id);
  }
}
