/**
 * Small pictures that are drawn often: ids and marks. Each is drawn once into an atlas and copied from there, which is
 * many times cheaper than drawing text or curves. When the atlas is full it starts over.
 */

const SIZE = 1024;

interface Place {
  x: number;
  y: number;
  width: number;
  height: number;
}

type Paint = (context: CanvasRenderingContext2D, x: number, y: number) => void;

export class Atlas {
  #canvas = document.createElement('canvas');
  #context: CanvasRenderingContext2D;
  #places = new Map<string, Place>();
  #x = 0;
  #y = 0;
  #row = 0;

  constructor(readonly ratio: number) {
    this.#canvas.width = SIZE;
    this.#canvas.height = SIZE;
    this.#context = this.#canvas.getContext('2d')!;
  }

  /** Draws the text with its left bottom corner at x, y, whole pixels. */
  text(target: CanvasRenderingContext2D, text: string, colour: string, halo: string, x: number, y: number): void {
    const key = `${colour}${text}`;
    const place = this.#places.get(key) ?? this.#writeText(key, text, colour, halo);
    target.drawImage(
      this.#canvas,
      place.x,
      place.y,
      place.width,
      place.height,
      x,
      y - place.height,
      place.width,
      place.height,
    );
  }

  /** Draws a picture of this size with its middle at x, y; `paint` is called when it is not there yet. */
  mark(target: CanvasRenderingContext2D, key: string, size: number, paint: Paint, x: number, y: number): void {
    let place = this.#places.get(key);
    if (!place) {
      place = this.#reserve(key, size, size);
      this.#context.save();
      paint(this.#context, place.x + size / 2, place.y + size / 2);
      this.#context.restore();
    }
    const half = size >> 1;
    target.drawImage(this.#canvas, place.x, place.y, size, size, x - half, y - half, size, size);
  }

  #writeText(key: string, text: string, colour: string, halo: string): Place {
    const context = this.#context;
    const size = Math.round(11 * this.ratio);
    context.font = `600 ${size}px system-ui, sans-serif`;
    const short = text.length > 14 ? `${text.slice(0, 13)}…` : text;
    const place = this.#reserve(key, Math.ceil(context.measureText(short).width) + 4, size + 4);
    context.textBaseline = 'alphabetic';
    context.lineJoin = 'round';
    context.lineWidth = 3 * this.ratio;
    context.strokeStyle = halo;
    context.strokeText(short, place.x + 2, place.y + size);
    context.fillStyle = colour;
    context.fillText(short, place.x + 2, place.y + size);
    return place;
  }

  #reserve(key: string, width: number, height: number): Place {
    if (this.#x + width > SIZE) {
      this.#x = 0;
      this.#y += this.#row;
      this.#row = 0;
    }
    if (this.#y + height > SIZE) {
      this.#places.clear();
      this.#context.clearRect(0, 0, SIZE, SIZE);
      this.#x = this.#y = this.#row = 0;
    }
    const place = { x: this.#x, y: this.#y, width, height };
    this.#x += width;
    this.#row = Math.max(this.#row, height);
    this.#places.set(key, place);
    return place;
  }
}
