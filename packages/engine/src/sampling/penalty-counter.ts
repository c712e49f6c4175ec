/**
 * The distinct ids of a sequence's prompt and output with how often each stands in the OUTPUT, kept up to date token by
 * token, so that a step packs them with two array copies.
 */
export class PenaltyCounter {
  #ids: Int32Array;
  #counts: Int32Array;
  #size = 0;
  readonly #slots = new Map<number, number>();

  /** @param prompt ids that the repetition penalty covers besides the output; empty when it is off */
  constructor(prompt: ArrayLike<number>) {
    this.#ids = new Int32Array(64);
    this.#counts = new Int32Array(64);
    for (let i = 0; i < prompt.length; i++) this.#slot(prompt[i]!);
  }

  get size(): number {
    return this.#size;
  }

  /** Distinct ids, first `size` entries of a backing array; read only, until the next `add`. */
  get ids(): Int32Array {
    return this.#ids.subarray(0, this.#size);
  }

  /** Output counts in the order of `ids`. */
  get counts(): Int32Array {
    return this.#counts.subarray(0, this.#size);
  }

  /** A token was generated. */
  add(id: number): void {
    const slot = this.#slot(id);
    this.#counts[slot] = this.#counts[slot]! + 1;
  }

  #slot(id: number): number {
    const known = this.#slots.get(id);
    if (known !== undefined) return known;
    if (this.#size === this.#ids.length) {
      this.#ids = grown(this.#ids);
      this.#counts = grown(this.#counts);
    }
    const slot = this.#size++;
    this.#ids[slot] = id;
    this.#slots.set(id, slot);
    return slot;
  }
}

function grown(array: Int32Array): Int32Array {
  const larger = new Int32Array(2 * array.length);
  larger.set(array);
  return larger;
}
