/** Reads what /metrics says. */

/** The value of one sample in Prometheus text; NaN when there is none with all these labels. */
export function metric(text: string, name: string, labels: Record<string, string>): number {
  const wanted = Object.entries(labels).map(([key, value]) => `${key}="${value}"`);
  const line = text
    .split('\n')
    .find((one) => one.startsWith(`${name}{`) && wanted.every((label) => one.includes(label)));
  return line === undefined ? Number.NaN : Number(line.slice(line.lastIndexOf(' ') + 1));
}
