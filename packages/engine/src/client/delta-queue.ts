/**
 * An unbounded single-consumer queue as an async iterator. The producer pushes, ends or fails it; a consumer that leaves
 * early (`return`) triggers `onAbandon` once, unless the queue has ended.
 */
export class DeltaQueue<T> implements AsyncIterableIterator<T> {
  readonly #items: T[] = [];
  #head = 0;
  #waiter: { resolve: (result: IteratorResult<T>) => void; reject: (error: unknown) => void } | undefined;
  #ended = false;
  #error: unknown;
  #failed = false;

  constructor(private readonly onAbandon: () => void) {}

  get ended(): boolean {
    return this.#ended;
  }

  push(item: T): void {
    if (this.#ended) return;
    const waiter = this.#waiter;
    if (waiter) {
      this.#waiter = undefined;
      waiter.resolve({ value: item, done: false });
    } else {
      this.#items.push(item);
    }
  }

  /** No more items follow; those pushed before are still delivered. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#waiter?.resolve({ value: undefined, done: true });
    this.#waiter = undefined;
  }

  /** As `end`, and the consumer gets the error after the items pushed before. */
  fail(error: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    const waiter = this.#waiter;
    this.#waiter = undefined;
    if (waiter) {
      waiter.reject(error);
    } else {
      this.#failed = true;
      this.#error = error;
    }
  }

  next(): Promise<IteratorResult<T>> {
    if (this.#head < this.#items.length) {
      const value = this.#items[this.#head++]!;
      if (this.#head === this.#items.length) {
        this.#items.length = 0;
        this.#head = 0;
      }
      return Promise.resolve({ value, done: false });
    }
    if (this.#failed) {
      this.#failed = false;
      return Promise.reject(this.#error);
    }
    if (this.#ended) return Promise.resolve({ value: undefined, done: true });
    if (this.#waiter) return Promise.reject(new Error('a stream has one consumer: await each next() before the next'));
    return new Promise((resolve, reject) => {
      this.#waiter = { resolve, reject };
    });
  }

  return(): Promise<IteratorResult<T>> {
    const abandoned = !this.#ended;
    this.end();
    this.#failed = false;
    this.#items.length = 0;
    this.#head = 0;
    if (abandoned) this.onAbandon();
    return Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
