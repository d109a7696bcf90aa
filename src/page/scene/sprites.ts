/**
 * Small pictures that are drawn often: ids and marks. Each is drawn once into a sheet and copied from there, which is
 * many times cheaper than drawing text or curves. Sheets are small, because a browser copies a whole sheet when it is
 * drawn into after it was copied from; when all are full, the oldest is reused.
 */

const SIZE = 256;
const SHEETS_MAX = 24;

interface Sheet {
  canvas: HTMLCanvasElement;
  context: CanvasRenderingContext2D;
  keys: string[];
}

interface Place {
  sheet: HTMLCanvasElement;
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Word {
  text: string;
  colour: string;
}

type Paint = (context: CanvasRenderingContext2D, x: number, y: number) => void;

export class Atlas {
  #sheets: Sheet[] = [];
  #places = new Map<string, Place>();
  #x = SIZE;
  #y = SIZE;
  #row = 0;

  constructor(readonly ratio: number) {}

  /**
   * Draws words side by side, each in its colour, with the left bottom corner at x, y, whole pixels; not when `fits`
   * says that there is no room for them.
   */
  text(
    target: CanvasRenderingContext2D,
    key: string,
    words: () => Word[],
    halo: string,
    x: number,
    y: number,
    fits?: (x: number, y: number, width: number, height: number) => boolean,
  ): void {
    const place = this.#places.get(key) ?? this.#writeText(key, words(), halo);
    const { width, height } = place;
    if (fits && !fits(x, y - height, width, height)) return;
    target.drawImage(place.sheet, place.x, place.y, width, height, x, y - height, width, height);
  }

  /** Draws a picture of this size with its middle at x, y; `paint` is called when it is not in a sheet yet. */
  mark(target: CanvasRenderingContext2D, key: string, size: number, paint: Paint, x: number, y: number): void {
    const place = this.#places.get(key) ?? this.#paint(key, size, paint);
    const half = size >> 1;
    target.drawImage(place.sheet, place.x, place.y, size, size, x - half, y - half, size, size);
  }

  #paint(key: string, size: number, paint: Paint): Place {
    const place = this.#reserve(key, size, size);
    const { context } = this.#sheets[this.#sheets.length - 1];
    context.save();
    paint(context, place.x + size / 2, place.y + size / 2);
    context.restore();
    return place;
  }

  #writeText(key: string, words: Word[], halo: string): Place {
    const size = Math.round(11 * this.ratio);
    const font = `600 ${size}px system-ui, sans-serif`;
    const short = words.map(({ text }) => (text.length > 14 ? `${text.slice(0, 13)}…` : text));
    const widths = short.map((text) => widthOf(text, font));
    const gap = Math.round(4 * this.ratio);
    const width = widths.reduce((sum, one) => sum + one + gap, 0);
    const place = this.#reserve(key, Math.min(SIZE, width), size + 4);
    const { context } = this.#sheets[this.#sheets.length - 1];
    context.font = font;
    context.lineJoin = 'round';
    context.lineWidth = 3 * this.ratio;
    context.strokeStyle = halo;
    let x = place.x + 2;
    words.forEach(({ colour }, n) => {
      context.strokeText(short[n], x, place.y + size);
      context.fillStyle = colour;
      context.fillText(short[n], x, place.y + size);
      x += widths[n] + gap;
    });
    return place;
  }

  #reserve(key: string, width: number, height: number): Place {
    if (this.#x + width > SIZE) {
      this.#x = 0;
      this.#y += this.#row;
      this.#row = 0;
    }
    if (this.#y + height > SIZE) this.#nextSheet();
    const sheet = this.#sheets[this.#sheets.length - 1];
    const place = { sheet: sheet.canvas, x: this.#x, y: this.#y, width, height };
    this.#x += width;
    this.#row = Math.max(this.#row, height);
    this.#places.set(key, place);
    sheet.keys.push(key);
    return place;
  }

  #nextSheet(): void {
    this.#x = this.#y = this.#row = 0;
    const oldest = this.#sheets.length < SHEETS_MAX ? null : this.#sheets.shift()!;
    for (const key of oldest?.keys ?? []) this.#places.delete(key);
    const canvas = oldest?.canvas ?? document.createElement('canvas');
    // also clears it
    canvas.width = canvas.height = SIZE;
    this.#sheets.push({ canvas, context: canvas.getContext('2d')!, keys: [] });
  }
}

const ruler = document.createElement('canvas').getContext('2d')!;

function widthOf(text: string, font: string): number {
  if (ruler.font !== font) ruler.font = font;
  return Math.min(SIZE - 4, Math.ceil(ruler.measureText(text).width));
}
