/**
 * The frame of a report: one HTML file that needs nothing else, no script and no network; its own policy says so to
 * the browser.
 */

import { type Content, html, Markup } from './markup.js';
import { STYLE } from './style.js';

export interface Page {
  title: string;
  /** one sentence below the title: what was compared with what */
  subtitle: Content;
  /** what comes between title and footer, usually `section`s */
  body: Content;
  /** how it was made: the command, the version */
  footer: Content;
}

const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/** The whole file. */
export function drawPage({ title, subtitle, body, footer }: Page): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<title>${title}</title>
<style>${new Markup(STYLE)}</style>
</head>
<body>
<header>
<h1>${title}</h1>
<p class="faint">${subtitle}</p>
</header>
<main>
${body}
</main>
<footer>${footer}</footer>
</body>
</html>
`.text;
}

/** A part of the page with a heading; `id` is where links point to. */
export function section(id: string, heading: string, ...content: Content[]): Markup {
  return html`<section id="${id}">
<h2>${heading}</h2>
${content}
</section>
`;
}

export interface PageColumn<Row> {
  heading: string;
  value: (row: Row) => Content;
  /** words are set to the left, numbers to the right */
  text?: boolean;
  /** what the heading means, shown when pointed at */
  hint?: string;
}

/** A table; rows that are `best` stand out. */
export function table<Row>(
  rows: readonly Row[],
  columns: ReadonlyArray<PageColumn<Row>>,
  options: { caption?: Content; best?: (row: Row) => boolean } = {},
): Markup {
  const { caption, best } = options;
  const kind = (column: PageColumn<Row>) => (column.text ? html` class="text"` : '');
  const hint = (column: PageColumn<Row>) => (column.hint ? html` title="${column.hint}"` : '');
  return html`<div class="scroll"><table>
${caption ? html`<caption>${caption}</caption>` : ''}
<thead><tr>${columns.map((column) => html`<th${kind(column)}${hint(column)}>${column.heading}</th>`)}</tr></thead>
<tbody>
${rows.map(
  (row) => html`<tr${best?.(row) ? html` class="best"` : ''}>${columns.map(
    (column) => html`<td${kind(column)}>${column.value(row)}</td>`,
  )}</tr>
`,
)}</tbody>
</table></div>
`;
}

/** A number as people read it: `digits` significant ones, no noise. */
export function tidy(value: number, digits = 4): string {
  if (!Number.isFinite(value)) return '–';
  if (value !== 0 && (Math.abs(value) >= 1e7 || Math.abs(value) < 1e-4)) return value.toExponential(digits - 1);
  return String(Number(value.toPrecision(Math.max(digits, Math.ceil(Math.log10(Math.abs(value) + 1))))));
}
