/**
 * A sum of numbers that come and go, rounded only when it is read: whatever was added and taken away in between, and in
 * whatever order, the same numbers give the same digits. Kept as a few numbers that do not overlap, smallest first
 * (Shewchuk 1997).
 */
export class ExactSum {
  private readonly parts: number[] = [];
  private count = 0;

  add(number: number): void {
    const { parts } = this;
    let sum = number;
    let kept = 0;
    for (let n = 0; n < this.count; n++) {
      const part = parts[n];
      const before = sum;
      sum += part;
      const lost = Math.abs(before) < Math.abs(part) ? before - (sum - part) : part - (sum - before);
      if (lost !== 0) parts[kept++] = lost;
    }
    if (sum !== 0) parts[kept++] = sum;
    this.count = kept;
  }

  /** The nearest number to the sum. */
  get value(): number {
    const { parts } = this;
    let n = this.count;
    if (n === 0) return 0;
    let sum = parts[--n];
    let lost = 0;
    while (n > 0 && lost === 0) {
      const before = sum;
      const part = parts[--n];
      sum = before + part;
      lost = part - (sum - before);
    }
    // what was lost is half of the last digit: what comes after it decides
    if (n > 0 && lost < 0 === parts[n - 1] < 0) {
      const twice = 2 * lost;
      const other = sum + twice;
      if (twice === other - sum) return other;
    }
    return sum;
  }
}
