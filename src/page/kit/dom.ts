/** Elements in one call, and text that is written only when it changes. */

type Child = Node | string | null | undefined | false;
type Props = Record<string, unknown>;

/** An element; `on…` are listeners, `class`, `data-…`, `aria-…` and so on attributes, all else properties. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value as EventListener);
    else if (key === 'class' || key.includes('-') || !(key in element))
      element.setAttribute(key, value === true ? '' : String(value));
    else (element as unknown as Props)[key] = value;
  }
  element.append(...children.filter((child): child is Node | string => child != null && child !== false));
  return element;
}

/** Writes text only when it differs: every write makes the browser lay out again. */
export function setText(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

export function toggle(element: HTMLElement, shown: boolean): void {
  if (element.hidden === shown) element.hidden = !shown;
}

/** The choices of a select, where they are others than before; what is chosen is one of them. */
export function setChoices(select: HTMLSelectElement, values: string[], chosen: string): void {
  if (chosen && !values.includes(chosen)) values.push(chosen);
  if (select.options.length === values.length && values.every((value, n) => select.options[n].value === value)) return;
  select.replaceChildren(...values.map((value) => h('option', { value }, value || 'none')));
  select.value = chosen;
}

/** Downloads text as a file. */
export function download(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = h('a', { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

/** Watches whether an element is on the screen; what is not need not be drawn often. */
export function watchVisible(element: Element, changed: () => void): { visible: boolean; close(): void } {
  const state = { visible: true, close: () => observer.disconnect() };
  const observer = new IntersectionObserver(([entry]) => {
    state.visible = entry.isIntersecting;
    if (state.visible) changed();
  });
  observer.observe(element);
  return state;
}
