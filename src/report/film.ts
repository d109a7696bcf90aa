/**
 * A few frames of a scene as a player, without a script: the worst frame is shown at first; Play has all frames follow
 * each other, and each of them has its place on a strip, to be clicked or reached with the arrow keys. All are radio
 * buttons of one group, so that choosing a frame stops the play. The reference is blue and solid, the tracker red and
 * dashed, as on the page; what is missed is crossed out, what is false has a ring.
 */

import { html, Markup } from './markup.js';

/** Something in a picture: a box, or a point without size. */
export interface FilmObject {
  id: string;
  /** left, top, width, height; y goes down */
  at: readonly [number, number, number, number];
  /** it has no partner in this frame */
  alone: boolean;
}

export interface FilmFrame {
  name: string;
  reference: readonly FilmObject[];
  tracker: readonly FilmObject[];
}

const WIDTH = 480;
const HEIGHT = 270;
const MARGIN = 0.04;
const OBJECTS_MAX = 3000;
const FRAME_MS = 120;
const DOT = 4;

/** `still` is the frame that is shown until it plays; `id` is unique in the report. */
export function drawFilm(id: string, frames: readonly FilmFrame[], still: number, description: string): Markup {
  const objects = frames.reduce((sum, { reference, tracker }) => sum + reference.length + tracker.length, 0);
  const step = Math.max(1, Math.ceil(objects / OBJECTS_MAX));
  const kept = frames
    .map((frame, n) => ({ frame, isStill: n === still }))
    .filter(({ isStill }, n) => n % step === 0 || isStill);
  const place = placing(frames);
  const pictures = kept.map(({ frame }, n) => {
    const delay = new Markup(`style="animation-delay:${n * FRAME_MS * step}ms"`);
    return html`<g class="picture" ${delay}>${frame.reference.map((one) => draw(one, place, 'reference'))}${frame.tracker.map(
      (one) => draw(one, place, 'tracker'),
    )}<text x="6" y="${HEIGHT - 6}">${frame.name}</text></g>
`;
  });
  const strip = kept.map(
    ({ frame, isStill }, n) =>
      html`<input type="radio" name="${id}" id="${id}-${n}" class="step${isStill ? ' worst' : ''}" aria-label="${frame.name}" title="${frame.name}${isStill ? ', the worst' : ''}"${isStill ? html` checked` : ''}>`,
  );
  return html`<div class="film" role="group" aria-label="${description}"><style>${new Markup(rulesOf(id, kept.length, step))}</style>
<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${description}">
${pictures}</svg>
<div class="strip"><input type="radio" name="${id}" id="${id}-play"><label for="${id}-play">Play</label>${strip}</div></div>
`;
}

/** Which picture is seen with which button; while it plays, one after the other. */
function rulesOf(id: string, count: number, step: number): string {
  const share = (100 / count).toFixed(3);
  const film = (button: string) => `.film:has(#${id}-${button}:checked)`;
  return [
    ...Array.from(
      { length: count },
      (_, n) => `${film(String(n))} .picture:nth-child(${n + 1}) { visibility: visible }`,
    ),
    `@keyframes ${id} { 0% { visibility: visible } ${share}% { visibility: hidden } 100% { visibility: hidden } }`,
    `${film('play')} .picture { animation: ${id} ${count * FRAME_MS * step}ms step-end infinite }`,
  ].join('\n');
}

type Placing = (at: FilmObject['at']) => [x: number, y: number, width: number, height: number];

/** Everything that is ever there fits. */
function placing(frames: readonly FilmFrame[]): Placing {
  const all = frames.flatMap(({ reference, tracker }) => [...reference, ...tracker]).map(({ at }) => at);
  const least = (of: (at: FilmObject['at']) => number) =>
    all.reduce((low, at) => Math.min(low, of(at)), Number.POSITIVE_INFINITY);
  const [left, top] = [least(([x]) => x), least(([, y]) => y)];
  const [right, bottom] = [-least(([x, , width]) => -x - width), -least(([, y, , height]) => -y - height)];
  const scale = Math.min(WIDTH / (right - left || 1), HEIGHT / (bottom - top || 1)) * (1 - 2 * MARGIN);
  const shiftX = (WIDTH - (right - left) * scale) / 2;
  const shiftY = (HEIGHT - (bottom - top) * scale) / 2;
  return ([x, y, width, height]) => [
    round(shiftX + (x - left) * scale),
    round(shiftY + (y - top) * scale),
    round(width * scale),
    round(height * scale),
  ];
}

function draw({ id, at, alone }: FilmObject, place: Placing, feed: 'reference' | 'tracker'): Markup {
  const [x, y, width, height] = place(at);
  const title = html`<title>${feed === 'reference' ? 'truth' : 'track'} ${id}${alone ? (feed === 'reference' ? ', missed' : ', false') : ''}</title>`;
  const shape =
    width === 0 && height === 0
      ? html`<circle class="${feed}" cx="${x}" cy="${y}" r="${DOT}">${title}</circle>`
      : html`<rect class="${feed}" x="${x}" y="${y}" width="${width}" height="${height}">${title}</rect>`;
  if (!alone) return shape;
  const [cx, cy] = [round(x + width / 2), round(y + height / 2)];
  const mark =
    feed === 'reference'
      ? html`<path class="outline missed" d="M${cx - 5} ${cy - 5}l10 10M${cx - 5} ${cy + 5}l10 -10"/>`
      : html`<circle class="outline false" cx="${cx}" cy="${cy}" r="6"/>`;
  return html`${shape}${mark}`;
}

const round = (value: number) => Math.round(value * 10) / 10;
