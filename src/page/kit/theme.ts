/**
 * Colours for canvases, read from the style sheet once per theme, because reading a style makes the browser compute it.
 */

export interface Theme {
  back: string;
  ink: string;
  faint: string;
  line: string;
  reference: string;
  tracker: string;
  link: string;
  localization: string;
  missed: string;
  false: string;
  switch: string;
  usual: string;
}

const NAMES = [
  'back',
  'ink',
  'faint',
  'line',
  'reference',
  'tracker',
  'link',
  'localization',
  'missed',
  'false',
  'switch',
  'usual',
] as const;
const KEY = 'tgospa-theme';

let current: Theme | null = null;
const listeners = new Set<() => void>();

export function theme(): Theme {
  if (!current) {
    const style = getComputedStyle(document.documentElement);
    current = Object.fromEntries(
      NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]),
    ) as unknown as Theme;
  }
  return current;
}

export function onThemeChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function changed(): void {
  current = null;
  for (const listener of listeners) listener();
}

const system = matchMedia('(prefers-color-scheme: dark)');
system.addEventListener('change', changed);

const chosen = localStorage.getItem(KEY);
if (chosen === 'dark' || chosen === 'light') document.documentElement.dataset.theme = chosen;

export function toggleTheme(): void {
  const { dataset } = document.documentElement;
  const dark = dataset.theme ? dataset.theme === 'dark' : system.matches;
  dataset.theme = dark ? 'light' : 'dark';
  localStorage.setItem(KEY, dataset.theme);
  changed();
}
