/** Array kept in the order of a strict total order. The first entries leave cheaply: a queue that mostly appends is O(1). */
export class RankedList<T> {
  private entries: T[] = [];
  private head = 0;

  constructor(private readonly compare: (a: T, b: T) => number) {}

  get size(): number {
    return this.entries.length - this.head;
  }

  /** The entries in order; a copy unless nothing has left at the front since the last change. */
  get items(): readonly T[] {
    if (this.head > 0) {
      this.entries = this.entries.slice(this.head);
      this.head = 0;
    }
    return this.entries;
  }

  first(): T | undefined {
    return this.entries[this.head];
  }

  last(): T | undefined {
    return this.size === 0 ? undefined : this.entries[this.entries.length - 1];
  }

  at(index: number): T | undefined {
    return this.entries[this.head + index];
  }

  shift(): T | undefined {
    if (this.size === 0) return undefined;
    const entry = this.entries[this.head++];
    if (this.head >= 64 && 2 * this.head >= this.entries.length) {
      this.entries = this.entries.slice(this.head);
      this.head = 0;
    }
    return entry;
  }

  pop(): T | undefined {
    return this.size === 0 ? undefined : this.entries.pop();
  }

  insert(entry: T): void {
    this.entries.splice(this.position(entry), 0, entry);
  }

  /** @returns false if the entry is not in the list. */
  remove(entry: T): boolean {
    const index = this.position(entry);
    if (this.entries[index] !== entry) return false;
    this.entries.splice(index, 1);
    return true;
  }

  /** Keeps the entries that pass, in order. */
  filter(keep: (entry: T) => boolean): void {
    this.entries = this.items.filter(keep);
  }

  /** The order has changed. */
  resort(): void {
    this.entries = this.items.toSorted(this.compare);
  }

  /** Index of the first entry that does not come before `entry`. */
  private position(entry: T): number {
    let low = this.head;
    let high = this.entries.length;
    if (high > low && this.compare(this.entries[high - 1]!, entry) < 0) return high;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.compare(this.entries[middle]!, entry) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
