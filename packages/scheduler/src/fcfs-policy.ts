import type { RankedSequence, SchedulingPolicy } from './policy.js';

/** First come, first served: by arrival. Nothing can overtake, so nothing starves. */
export class FcfsPolicy implements SchedulingPolicy {
  readonly name = 'fcfs';
  readonly preemptsAtAdmission = false;

  compare(a: RankedSequence, b: RankedSequence): number {
    return a.arrival - b.arrival || a.ordinal - b.ordinal;
  }

  onAdd(): void {}

  refresh(): boolean {
    return false;
  }
}
