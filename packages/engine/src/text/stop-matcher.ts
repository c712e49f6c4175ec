/** What a push made final. */
export interface StopPush {
  /** Text that can no longer be part of a stop string. */
  readonly text: string;
  /** The stop string that ended the text. Nothing after it counts. */
  readonly matched?: string;
}

interface State {
  readonly next: Map<number, number>;
  /** Length of the longest suffix of what was read that begins some stop string: exactly what must be held back. */
  readonly depth: number;
  fail: number;
  /** Longest stop string that ends here. */
  match: string | undefined;
}

/**
 * Finds stop strings in streamed text: an Aho-Corasick automaton (CACM 18(6), 1975) over UTF-16 units, so the cost is linear
 * whatever the strings, and the result does not depend on how the text is cut. The first stop string to be COMPLETED ends the
 * text; of those completed together the longest counts.
 */
export class StopMatcher {
  readonly #states: State[] = [{ next: new Map(), depth: 0, fail: 0, match: undefined }];
  readonly #include: boolean;
  #state = 0;
  #held = '';

  /** @param include the stop string itself stays in the text */
  constructor(stops: readonly string[], include: boolean) {
    this.#include = include;
    for (const stop of stops) this.#insert(stop);
    this.#link();
  }

  push(text: string): StopPush {
    if (this.#states.length === 1) return { text };
    const buffer = this.#held + text;
    for (let i = this.#held.length; i < buffer.length; i++) {
      this.#state = this.#step(this.#state, buffer.charCodeAt(i));
      const { match } = this.#states[this.#state]!;
      if (match !== undefined) {
        this.#held = '';
        return { text: buffer.slice(0, this.#include ? i + 1 : i + 1 - match.length), matched: match };
      }
    }
    const safe = buffer.length - this.#states[this.#state]!.depth;
    this.#held = buffer.slice(safe);
    return { text: buffer.slice(0, safe) };
  }

  /** Forgets a begun match: text so far cannot take part in a stop string. @returns what was held back */
  flush(): string {
    const text = this.#held;
    this.#held = '';
    this.#state = 0;
    return text;
  }

  #insert(stop: string): void {
    let at = 0;
    for (let i = 0; i < stop.length; i++) {
      const unit = stop.charCodeAt(i);
      let next = this.#states[at]!.next.get(unit);
      if (next === undefined) {
        next = this.#states.length;
        this.#states.push({ next: new Map(), depth: i + 1, fail: 0, match: undefined });
        this.#states[at]!.next.set(unit, next);
      }
      at = next;
    }
    this.#states[at]!.match = stop;
  }

  /** Breadth first, so that the state a failure link points to is complete. */
  #link(): void {
    const queue = [...this.#states[0]!.next.values()];
    for (let head = 0; head < queue.length; head++) {
      const state = this.#states[queue[head]!]!;
      state.match ??= this.#states[state.fail]!.match;
      for (const [unit, child] of state.next) {
        this.#states[child]!.fail = this.#step(state.fail, unit);
        queue.push(child);
      }
    }
  }

  #step(from: number, unit: number): number {
    for (let at = from; ; at = this.#states[at]!.fail) {
      const next = this.#states[at]!.next.get(unit);
      if (next !== undefined) return next;
      if (at === 0) return 0;
    }
  }
}
