/** Numbers as people read them in tables and sentences. */

/** Four digits, and no zeros after them. */
export function short(value: number): string {
  return String(Number(value.toPrecision(4)));
}

/** With commas between thousands. */
export function whole(value: number): string {
  // toLocaleString loads the tables of all languages, which takes longer than a short evaluation
  const [digits, ...decimals] = String(Math.round(value * 1000) / 1000).split('.');
  return [digits.replace(/\B(?=(\d{3})+$)/g, ','), ...decimals].join('.');
}

/** A share of 1; with a decimal where it is small. */
export function percent(share: number): string {
  if (share > 0 && share < 0.0005) return '< 0.1 %';
  return `${(share * 100).toFixed(share > 0 && share < 0.0995 ? 1 : 0)} %`;
}

/** Proven, or how far from it. */
export function exactness({ exact, gap }: { exact: boolean; gap: number }): string {
  return exact ? 'yes' : `gap ${percent(gap)}`;
}
