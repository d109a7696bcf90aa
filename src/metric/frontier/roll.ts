/**
 * A set whose members know their place in it: neither adding nor removing costs memory or a search. Nobody is in two
 * of a kind.
 */
export class Roll<T extends { place: number }> {
  private readonly items: (T | undefined)[] = [];
  size = 0;

  at(n: number): T {
    return this.items[n]!;
  }

  add(item: T): void {
    if (item.place >= 0) return;
    item.place = this.size;
    this.items[this.size++] = item;
  }

  /** The last one takes its place. */
  delete(item: T): void {
    const { place } = item;
    if (place < 0) return;
    const last = this.items[--this.size]!;
    this.items[this.size] = undefined;
    if (last !== item) {
      this.items[place] = last;
      last.place = place;
    }
    item.place = -1;
  }
}
