/**
 * The controls of what lies behind the objects: a picture or floor plan from a file or an address, and on Earth the
 * coastlines that come with the page, or a finer map as GeoJSON. Files stay in the browser; an address is remembered
 * for its stream.
 */
import type { Place } from '../../coverage/region.js';
import { h, setText } from '../kit/dom.js';
import { type Backdrop, linesOf, unpackCoast } from './backdrop.js';

/** empty where the page was built without them */
declare const COAST_FILE: string;

const KEY = 'tgospa-picture ';

export class BackdropControls {
  readonly element: HTMLElement;
  #status = h('span', { class: 'note', role: 'status' });
  #address = h('input', { type: 'url', placeholder: 'https://…/snapshot.jpg', 'aria-label': 'address of a picture' });
  #shown = '';
  /** coastlines are asked for once */
  #asked = false;

  constructor(
    readonly stream: string,
    readonly backdrops: Backdrop[],
    readonly changed: () => void,
  ) {
    const file = h('input', {
      type: 'file',
      accept: 'image/*,.geojson,.json',
      'aria-label': 'picture, floor plan or map (GeoJSON)',
      onchange: () => file.files?.[0] && void this.#open(file.files[0]),
    });
    const form = h(
      'form',
      {
        class: 'go',
        onsubmit: (event: Event) => {
          event.preventDefault();
          this.#keep(this.#address.value);
        },
      },
      this.#address,
      h('button', { type: 'submit' }, 'Show'),
      h('button', { type: 'button', onclick: () => this.#keep('') }, 'Remove'),
    );
    this.element = h(
      'details',
      { class: 'background' },
      h('summary', {}, 'Background'),
      h(
        'p',
        { class: 'note' },
        'A picture or floor plan behind boxes, or a finer map (GeoJSON) behind places on Earth.',
      ),
      file,
      form,
      this.#status,
    );
  }

  /** What the stream's settings name, unless somebody has chosen otherwise. */
  offer(picture: string | undefined): void {
    const address = localStorage.getItem(KEY + this.stream) ?? picture ?? '';
    if (address !== this.#shown) void this.#load(address);
  }

  /** The scene is on Earth: coastlines lie behind it, unless somebody has opened a map. */
  async offerCoast(): Promise<void> {
    if (this.#asked || COAST_FILE === '') return;
    this.#asked = true;
    try {
      const response = await fetch(COAST_FILE);
      if (response.ok && this.element.dataset.coast === undefined)
        this.#coast(unpackCoast((await response.json()) as number[][]));
    } catch {
      // a map without coastlines is a map
    }
    this.changed();
  }

  #coast(lines: Place[][]): void {
    for (const backdrop of this.backdrops) backdrop.coast = lines;
    this.element.dataset.coast = String(lines.length);
  }

  #keep(address: string): void {
    localStorage.setItem(KEY + this.stream, address);
    void this.#load(address);
  }

  async #load(address: string): Promise<void> {
    this.#shown = address;
    this.#address.value = address;
    if (!address) return this.#show(null);
    const image = new Image();
    image.src = address;
    try {
      await image.decode();
      if (this.#shown === address) this.#show(image);
    } catch {
      this.#tell(`${address} could not be shown: it is not a picture, or its server is not listed in pictureOrigins`);
    }
  }

  async #open(file: File): Promise<void> {
    try {
      if (!file.type.startsWith('image/')) {
        const lines = linesOf(await file.text());
        this.#coast(lines);
        this.#tell(`${file.name}: ${lines.length} lines`);
      } else this.#show(await createImageBitmap(file));
    } catch (error) {
      this.#tell(`${file.name} could not be shown: ${(error as Error).message}`);
    }
  }

  #show(image: HTMLImageElement | ImageBitmap | null): void {
    const size =
      image instanceof HTMLImageElement ? [image.naturalWidth, image.naturalHeight] : [image?.width, image?.height];
    const [width = 0, height = 0] = size;
    for (const backdrop of this.backdrops) backdrop.picture = image && { image, width, height };
    this.#tell(image ? `${width} x ${height} pixels` : '');
  }

  #tell(text: string): void {
    setText(this.#status, text);
    this.changed();
  }
}
