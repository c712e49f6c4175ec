import type { SequenceView } from './request.js';

/** What a policy may look at and keep. `rank` belongs to the policy; it is 0 for a new sequence. */
export interface RankedSequence extends SequenceView {
  rank: number;
  /** Order of `add`; the last tie-breaker. */
  readonly ordinal: number;
}

/**
 * The order in which sequences are served. `compare` must be a strict total order that does not change between two
 * `refresh` calls; whoever comes first is planned first and preempted last.
 */
export interface SchedulingPolicy {
  readonly name: string;
  /** A waiting sequence may push out running ones that come after it. */
  readonly preemptsAtAdmission: boolean;
  /** Negative when `a` is served before `b`. */
  compare(a: RankedSequence, b: RankedSequence): number;
  /** A sequence was added; called before its first comparison. */
  onAdd(sequence: RankedSequence, now: number): void;
  /** Called at the start of every `schedule`. @returns true when the order of live sequences changed. */
  refresh(waiting: readonly RankedSequence[], running: readonly RankedSequence[], now: number): boolean;
}
