/**
 * A list that is filled and emptied again and again without memory of its own each time: a list that grows one by one
 * takes more than its copy. It keeps nothing that was taken out of it.
 */
export class Basket<T> {
  private readonly items: (T | undefined)[] = [];
  private count = 0;

  get size(): number {
    return this.count;
  }

  add(item: T): void {
    this.items[this.count++] = item;
  }

  at(n: number): T {
    return this.items[n]!;
  }

  clear(): void {
    while (this.count > 0) this.items[--this.count] = undefined;
  }

  /** What is in it, as a list of its own; it is empty then. */
  take(): T[] {
    const list = this.items.slice(0, this.count) as T[];
    this.clear();
    return list;
  }
}
