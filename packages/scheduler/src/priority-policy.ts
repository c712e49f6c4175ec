import { SchedulerConfigError } from './errors.js';
import type { RankedSequence, SchedulingPolicy } from './policy.js';

export interface PriorityPolicyOptions {
  /**
   * Milliseconds after its arrival from which a sequence goes before all younger ones, whatever their priority. This bounds
   * starvation: only what is at least as old can still be served before it. Default 60,000.
   */
  readonly ageingMs?: number;
}

const AGED = 1;

/** Lower priority value first, then by arrival; aged sequences (rank 1) before all others, by arrival. */
export class PriorityPolicy implements SchedulingPolicy {
  readonly name = 'priority';
  readonly preemptsAtAdmission = true;
  private readonly ageingMs: number;
  /** No sequence that is not aged yet becomes so before this time. */
  private nextDue = Number.POSITIVE_INFINITY;

  /** @throws {SchedulerConfigError} unless ageingMs is a number of at least 0. */
  constructor(options: PriorityPolicyOptions = {}) {
    this.ageingMs = options.ageingMs ?? 60_000;
    if (!(this.ageingMs >= 0)) throw new SchedulerConfigError('ageingMs', options.ageingMs, 'a number of at least 0');
  }

  compare(a: RankedSequence, b: RankedSequence): number {
    if (a.rank !== b.rank) return b.rank - a.rank;
    if (a.rank !== AGED && a.priority !== b.priority) return a.priority - b.priority;
    return a.arrival - b.arrival || a.ordinal - b.ordinal;
  }

  onAdd(sequence: RankedSequence, now: number): void {
    const due = sequence.arrival + this.ageingMs;
    if (due <= now) sequence.rank = AGED;
    else this.nextDue = Math.min(this.nextDue, due);
  }

  refresh(waiting: readonly RankedSequence[], running: readonly RankedSequence[], now: number): boolean {
    if (now < this.nextDue) return false;
    this.nextDue = Number.POSITIVE_INFINITY;
    let changed = false;
    for (const list of [waiting, running]) {
      for (const sequence of list) {
        if (sequence.rank === AGED) continue;
        const due = sequence.arrival + this.ageingMs;
        if (due <= now) {
          sequence.rank = AGED;
          changed = true;
        } else this.nextDue = Math.min(this.nextDue, due);
      }
    }
    return changed;
  }
}
