/**
 * HTML and SVG as values. Text put into a template is escaped, markup put into one is not: a file name with a `<` in it
 * cannot break a report.
 */

/** A piece of HTML or SVG that is known to be well-formed. */
export class Markup {
  constructor(readonly text: string) {}

  toString(): string {
    return this.text;
  }
}

export type Content = Markup | string | number | null | undefined | false | readonly Content[];

/** The template: `html\`<td>${name}</td>\``. Lists are joined; null, undefined and false leave nothing. */
export function html(parts: TemplateStringsArray, ...contents: Content[]): Markup {
  let text = parts[0];
  contents.forEach((content, index) => {
    text += textOf(content) + parts[index + 1];
  });
  return new Markup(text);
}

function textOf(content: Content): string {
  if (content === null || content === undefined || content === false) return '';
  if (content instanceof Markup) return content.text;
  if (Array.isArray(content)) return content.map(textOf).join('');
  return escapeText(String(content));
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character]);
}
