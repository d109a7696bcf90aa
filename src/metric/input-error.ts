/**
 * One error for everything a caller can get wrong. All mistakes found in one input are reported together,
 * each with its place, the offending value and the remedy.
 */

export interface Problem {
  /** where: `cutoff`, `frames[17].tracker[3].box[2]` */
  path: string;
  value: unknown;
  /** what was expected and what to do */
  message: string;
}

const SHOWN_PROBLEMS_MAX = 20;

export class InputError extends Error {
  override readonly name = 'InputError';
  readonly code = 'input_invalid';

  constructor(readonly problems: Problem[]) {
    const lines = problems.slice(0, SHOWN_PROBLEMS_MAX).map((p) => `${p.path}: ${p.message} (got ${show(p.value)})`);
    if (problems.length > lines.length) lines.push(`and ${problems.length - lines.length} more`);
    super(lines.length === 1 ? lines[0] : `${problems.length} problems\n  ${lines.join('\n  ')}`);
  }
}

/** Does the same with all items; the mistakes of all of them are thrown together. */
export function together<Item, Result>(items: readonly Item[], work: (item: Item) => Result): Result[] {
  const problems: Problem[] = [];
  const results = items.flatMap((item) => noting(problems, () => [work(item)]) ?? []);
  if (problems.length > 0) throw new InputError(problems);
  return results;
}

/** Does one piece of work; its mistakes are added to those found so far. */
export function noting<Result>(problems: Problem[], work: () => Result): Result | undefined {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    problems.push(...error.problems);
    return undefined;
  }
}

/** Shows any value in at most 60 characters. */
function show(value: unknown): string {
  if (typeof value === 'number' || value === undefined) return String(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'function' || typeof value === 'symbol') return typeof value;
  let text: string;
  try {
    text =
      JSON.stringify(value, (_, v) => (typeof v === 'number' && !Number.isFinite(v) ? String(v) : v)) ?? 'undefined';
  } catch {
    text = Object.prototype.toString.call(value);
  }
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}
