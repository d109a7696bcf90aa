/**
 * What lies behind the objects: a picture or floor plan, a coastline, regions that are judged or ignored, and on Earth
 * a graticule and range rings. Painted once into a layer of its own, and again only when the view has moved or
 * something of it has changed.
 */
import { type Place, type Region, ringsOf, type SceneFacts } from '../../coverage/region.js';
import type { Theme } from '../kit/theme.js';
import type { Camera } from './camera.js';
import type { FrameBuffer } from './frames.js';
import { type DistanceUnits, lengthOf } from './map-units.js';

export interface BackdropPicture {
  image: CanvasImageSource;
  width: number;
  height: number;
}

/** Degrees. */
interface Bounds {
  south: number;
  north: number;
  west: number;
  east: number;
}

interface CoastLine {
  places: Place[];
  bounds: Bounds;
}

const CORNERS_MAX = 200_000;
const HALF_WORLD_M = 1e7;

export class Backdrop {
  readonly canvas = document.createElement('canvas');
  #context = this.canvas.getContext('2d')!;
  #painted = '';
  #changes = 0;
  #picture: BackdropPicture | null = null;
  #coast: CoastLine[] = [];
  #facts: SceneFacts = {};
  /** middle of the range rings, as the scene has it; null: none */
  rings: [x: number, y: number] | null = null;
  regions = true;

  /** Whether there is a picture, which hides what is below it. */
  get isOpaque(): boolean {
    return this.#picture !== null;
  }

  set picture(picture: BackdropPicture | null) {
    this.#picture = picture;
    this.#changes++;
  }

  set facts(facts: SceneFacts) {
    if (JSON.stringify(facts) === JSON.stringify(this.#facts)) return;
    this.#facts = facts;
    this.#changes++;
  }

  set coast(lines: Place[][]) {
    this.#coast = lines.map((places) => ({ places, bounds: boundsOf(places) }));
    this.#changes++;
  }

  /** What ranges are measured from: the middle of the first sector. */
  get sensor(): Place | null {
    const { within = [], regions = [] } = this.#facts;
    return [...within, ...regions].find(({ sector }) => sector)?.sector?.at ?? null;
  }

  resize(width: number, height: number): void {
    this.canvas.width = width;
    this.canvas.height = height;
    this.#painted = '';
  }

  /** Brings the layer up to date; false when there is nothing on it. */
  update(buffer: FrameBuffer, camera: Camera, theme: Theme, ratio: number, units: DistanceUnits): boolean {
    const { regions, within, ignore } = this.#facts;
    const hasRegions = this.regions && [regions, within, ignore].some((list) => list && list.length > 0);
    if (!buffer.geodesic && !this.#picture && !hasRegions && !this.rings) return false;
    const state = [camera.version, this.#changes, theme.back, this.rings, this.regions, units, buffer.origin].join();
    if (state === this.#painted) return true;
    this.#painted = state;
    const context = this.#context;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.font = `${Math.round(11 * ratio)}px system-ui, sans-serif`;
    context.lineWidth = Math.max(1, Math.round(ratio));
    this.#paintPicture(camera, theme);
    if (buffer.geodesic) this.#paintMap(buffer, camera, theme, ratio);
    if (this.rings) this.#paintRings(this.rings, buffer, camera, theme, ratio, units);
    if (hasRegions) this.#paintRegions(buffer, camera, theme, ratio);
    return true;
  }

  /** One pixel of the picture is one unit of the scene, from its origin. */
  #paintPicture({ scale, left, top }: Camera, theme: Theme): void {
    if (!this.#picture) return;
    const { image, width, height } = this.#picture;
    const context = this.#context;
    context.fillStyle = theme.back;
    context.fillRect(0, 0, this.canvas.width, this.canvas.height);
    context.globalAlpha = 0.75;
    context.drawImage(image, -left * scale, -top * scale, width * scale, height * scale);
    context.globalAlpha = 1;
  }

  #paintMap(buffer: FrameBuffer, camera: Camera, theme: Theme, ratio: number): void {
    this.#graticule(buffer, camera, theme, ratio);
    const context = this.#context;
    context.strokeStyle = theme.link;
    context.beginPath();
    const view = this.#view(buffer, camera);
    if (view) for (const line of this.#coast) if (meets(line.bounds, view)) this.#coastLine(line, buffer, camera);
    context.stroke();
  }

  /** What of the Earth can be seen. */
  #view(buffer: FrameBuffer, { scale, left, top }: Camera): Bounds | null {
    const corner = buffer.unproject(left, top);
    const opposite = buffer.unproject(left + this.canvas.width / scale, top + this.canvas.height / scale);
    return corner && opposite && { south: opposite[0], north: corner[0], west: corner[1], east: opposite[1] };
  }

  #coastLine({ places }: CoastLine, buffer: FrameBuffer, { scale, left, top }: Camera): void {
    const context = this.#context;
    let before = Number.NaN;
    for (const place of places) {
      const [x, y] = buffer.project(place);
      // half the world away from the scene, longitudes begin anew
      const isNext = Math.abs(x - before) < HALF_WORLD_M;
      before = x;
      if (isNext) context.lineTo((x - left) * scale, (y - top) * scale);
      else context.moveTo((x - left) * scale, (y - top) * scale);
    }
  }

  #graticule(buffer: FrameBuffer, { scale, left, top }: Camera, theme: Theme, ratio: number): void {
    const context = this.#context;
    const { width, height } = this.canvas;
    const corner = buffer.unproject(left, top);
    const opposite = buffer.unproject(left + width / scale, top + height / scale);
    if (!corner || !opposite) return;
    const step = stepOf(Math.abs(opposite[1] - corner[1]) / Math.max(2, width / (170 * ratio)));
    context.strokeStyle = theme.line;
    context.fillStyle = theme.faint;
    context.textBaseline = 'top';
    context.beginPath();
    const labels: Array<[string, number, number]> = [];
    for (let n = Math.ceil(corner[1] / step); n * step <= opposite[1]; n++) {
      const x = Math.round((buffer.project([corner[0], n * step])[0] - left) * scale) + 0.5;
      context.moveTo(x, 0);
      context.lineTo(x, height);
      labels.push([degrees(n * step, 'EW', step), x + 3 * ratio, 3 * ratio]);
    }
    for (let n = Math.ceil(opposite[0] / step); n * step <= corner[0]; n++) {
      const y = Math.round((buffer.project([n * step, corner[1]])[1] - top) * scale) + 0.5;
      context.moveTo(0, y);
      context.lineTo(width, y);
      labels.push([degrees(n * step, 'NS', step), 3 * ratio, y + 2 * ratio]);
    }
    context.stroke();
    for (const [text, x, y] of labels) context.fillText(text, x, y);
  }

  #paintRings(
    [x, y]: [number, number],
    buffer: FrameBuffer,
    { scale, left, top }: Camera,
    theme: Theme,
    ratio: number,
    units: DistanceUnits,
  ): void {
    const context = this.#context;
    const [cx, cy] = [(x - left) * scale, (y - top) * scale];
    const unit = buffer.geodesic && units === 'nautical miles' ? 1852 : 1;
    const step = stepOf((Math.min(this.canvas.width, this.canvas.height) / scale / 5 / unit) * 1) * unit;
    context.strokeStyle = theme.faint;
    context.fillStyle = theme.faint;
    context.textBaseline = 'bottom';
    for (let n = 1; n <= 6; n++) {
      context.beginPath();
      context.arc(cx, cy, n * step * scale, 0, 2 * Math.PI);
      context.stroke();
      const label = buffer.geodesic ? lengthOf(n * step, units) : String(Number((n * step).toPrecision(3)));
      context.fillText(label, cx + 3 * ratio, cy - n * step * scale - 2 * ratio);
    }
    context.beginPath();
    for (const [dx, dy] of [
      [6, 0],
      [0, 6],
    ]) {
      context.moveTo(cx - dx * ratio, cy - dy * ratio);
      context.lineTo(cx + dx * ratio, cy + dy * ratio);
    }
    context.stroke();
  }

  #paintRegions(buffer: FrameBuffer, camera: Camera, theme: Theme, ratio: number): void {
    const context = this.#context;
    const { regions = [], within = [], ignore = [] } = this.#facts;
    context.setLineDash([6 * ratio, 4 * ratio]);
    for (const [list, colour] of [
      [regions, theme.reference],
      [within, theme.tracker],
    ] as const) {
      context.strokeStyle = colour;
      context.beginPath();
      for (const region of list) this.#region(region, buffer, camera);
      context.stroke();
    }
    context.setLineDash([]);
    if (ignore.length === 0) return;
    context.beginPath();
    for (const region of ignore) this.#region(region, buffer, camera);
    context.fillStyle = hatched(context, theme.faint, ratio);
    context.fill('evenodd');
    context.strokeStyle = theme.faint;
    context.stroke();
  }

  #region(region: Region, buffer: FrameBuffer, camera: Camera): void {
    const isPicture = region.box !== undefined || !buffer.hasPoints;
    for (const ring of ringsOf(region, buffer.geodesic)) this.#trace(ring, buffer, camera, true, isPicture);
  }

  #trace(
    line: readonly Place[],
    buffer: FrameBuffer,
    { scale, left, top }: Camera,
    closed: boolean,
    isPicture = false,
  ): void {
    const context = this.#context;
    for (const [n, place] of line.entries()) {
      const [x, y] = isPicture && !buffer.geodesic ? place : buffer.project(place);
      if (n === 0) context.moveTo((x - left) * scale, (y - top) * scale);
      else context.lineTo((x - left) * scale, (y - top) * scale);
    }
    if (closed) context.closePath();
  }
}

function hatched(context: CanvasRenderingContext2D, colour: string, ratio: number): CanvasPattern {
  const tile = document.createElement('canvas');
  const size = Math.round(9 * ratio);
  tile.width = tile.height = size;
  const pen = tile.getContext('2d')!;
  pen.strokeStyle = colour;
  pen.globalAlpha = 0.55;
  pen.lineWidth = ratio;
  for (const shift of [-size, 0, size]) {
    pen.moveTo(shift, size);
    pen.lineTo(shift + size, 0);
  }
  pen.stroke();
  return context.createPattern(tile, 'repeat')!;
}

function boundsOf(places: Place[]): Bounds {
  const bounds = { south: 90, north: -90, west: Infinity, east: -Infinity };
  for (const [latitude, longitude] of places) {
    bounds.south = Math.min(bounds.south, latitude);
    bounds.north = Math.max(bounds.north, latitude);
    bounds.west = Math.min(bounds.west, longitude);
    bounds.east = Math.max(bounds.east, longitude);
  }
  return bounds;
}

/** Whether two parts of the Earth meet, wherever their longitudes begin. */
const meets = (a: Bounds, b: Bounds) =>
  a.north >= b.south &&
  a.south <= b.north &&
  [-360, 0, 360].some((turn) => a.east + turn >= b.west && a.west + turn <= b.east);

/** A round number, at least as large as what is asked for. */
function stepOf(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1e-9)));
  return ([1, 2, 5].find((n) => n * power >= least) ?? 10) * power;
}

function degrees(value: number, names: string, step: number): string {
  const digits = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
  return `${Math.abs(value).toFixed(digits)}° ${value < 0 ? names[1] : names[0]}`;
}

/** Lines of a GeoJSON file, as latitudes and longitudes; a mistake when there are none. */
export function linesOf(text: string): Place[][] {
  const lines: Place[][] = [];
  let corners = 0;
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    if (isLine(value)) {
      corners += value.length;
      if (corners > CORNERS_MAX) throw new Error(`the map has more than ${CORNERS_MAX} corners; use a coarser one`);
      lines.push(value.map(([longitude, latitude]): Place => [latitude, longitude]));
    } else for (const part of Object.values(value)) visit(part);
  };
  visit(JSON.parse(text));
  if (lines.length === 0) throw new Error('it has no lines or polygons; a map must be a GeoJSON file');
  return lines;
}

/** Lines of the coast as they are packed by build.ts. */
export function unpackCoast(packed: number[][]): Place[][] {
  return packed.map((line) => {
    let [longitude, latitude] = [0, 0];
    return Array.from({ length: line.length / 2 }, (_, n): Place => {
      longitude += line[2 * n];
      latitude += line[2 * n + 1];
      return [latitude / 100, longitude / 100];
    });
  });
}

const isLine = (value: object): value is Array<[number, number]> =>
  Array.isArray(value) &&
  value.length > 1 &&
  value.every((one) => Array.isArray(one) && Number.isFinite(one[0]) && Number.isFinite(one[1]));
