/** Reads what /metrics says. */

/** The value of one sample in Prometheus text; NaN when there is none with all these labels. */
export function metric(text: string, name: string, labels: Record<string, string>): number {
  const wanted = Object.entries(labels).map(([key, value]) => `${key}="${value}"`);
  const line = text
    .split('\n')
    .find((one) => one.startsWith(`${name}{`) && wanted.every((label) => one.includes(label)));
  return line === undefined ? Number.NaN : Number(line.slice(line.lastIndexOf(' ') + 1));
}

/** Every sample name in Prometheus text, with the labels its samples have. */
export function labelsOf(text: string): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const line of text.split('\n')) {
    const [, name, labels = ''] = /^([a-zA-Z_]\w*)(?:\{(.*)\})? /.exec(line) ?? [];
    if (!name) continue;
    const known = found.get(name) ?? new Set();
    found.set(name, known);
    for (const [, label] of labels.matchAll(/(\w+)="/g)) known.add(label);
  }
  return found;
}
