import { TokenizerError } from './errors.js';

interface State {
  readonly next: Map<number, number>;
  /** State of the longest proper suffix that is also a prefix of some stop string. */
  fail: number;
  /** Length of the prefix that the state stands for. */
  readonly depth: number;
  /** Index of the longest stop string that ends here, or -1. */
  match: number;
}

/** Finds the first of several strings to be completed in text that arrives in parts (Aho-Corasick, linear time). */
export class StopMatcher {
  private readonly states: State[] = [{ next: new Map(), fail: 0, depth: 0, match: -1 }];

  /** @throws TokenizerError for an empty stop string, which would match everywhere */
  constructor(readonly stops: readonly string[]) {
    stops.forEach((stop, index) => this.insert(stop, index));
    const queue: number[] = [...this.states[0]!.next.values()];
    for (let head = 0; head < queue.length; head++) {
      const state = this.states[queue[head]!]!;
      for (const [unit, target] of state.next) {
        const child = this.states[target]!;
        child.fail = this.step(state.fail, unit);
        // A stop string of the state itself is longer than one that its suffix completes.
        if (child.match < 0) child.match = this.states[child.fail]!.match;
        queue.push(target);
      }
    }
  }

  private insert(stop: string, index: number): void {
    if (stop === '') throw new TokenizerError(`stop[${index}] is empty: leave it out, or give at least one character`);
    let at = 0;
    for (let i = 0; i < stop.length; i++) {
      const unit = stop.charCodeAt(i);
      let target = this.states[at]!.next.get(unit);
      if (target === undefined) {
        target = this.states.length;
        this.states.push({ next: new Map(), fail: 0, depth: i + 1, match: -1 });
        this.states[at]!.next.set(unit, target);
      }
      at = target;
    }
    if (this.states[at]!.match < 0) this.states[at]!.match = index;
  }

  /** The state after one more code unit. State 0 is the start. */
  step(state: number, unit: number): number {
    for (;;) {
      const target = this.states[state]!.next.get(unit);
      if (target !== undefined) return target;
      if (state === 0) return 0;
      state = this.states[state]!.fail;
    }
  }

  /** How many code units of the text so far may be the beginning of a stop string. */
  held(state: number): number {
    return this.states[state]!.depth;
  }

  /** Index of the stop string that ends in `state`, or -1. */
  matchAt(state: number): number {
    return this.states[state]!.match;
  }
}
