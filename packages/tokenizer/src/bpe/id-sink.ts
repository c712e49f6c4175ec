/** A growing list of token ids. */
export class IdSink {
  ids: Uint32Array;
  length = 0;

  constructor(capacity = 256) {
    this.ids = new Uint32Array(capacity);
  }

  /** Makes room for `count` more ids; after it, writing `ids[length + i]` for i < count is safe. */
  reserve(count: number): void {
    const needed = this.length + count;
    if (needed <= this.ids.length) return;
    const grown = new Uint32Array(Math.max(needed, this.ids.length * 2));
    grown.set(this.ids.subarray(0, this.length));
    this.ids = grown;
  }

  push(id: number): void {
    if (this.length === this.ids.length) this.reserve(1);
    this.ids[this.length++] = id;
  }

  /** A copy of the ids so far. */
  toArray(): Uint32Array {
    return this.ids.slice(0, this.length);
  }
}
