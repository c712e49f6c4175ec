import type { KvCache } from '@dsi/kv-cache';
import { SchedulerIntegrityError } from './errors.js';
import type { ResolvedOptions } from './options.js';
import type { Sequence } from './sequence.js';

export interface SchedulerState {
  readonly kv: KvCache;
  readonly live: ReadonlyMap<string, Sequence>;
  readonly waiting: readonly Sequence[];
  readonly running: readonly Sequence[];
  readonly inFlight: readonly Sequence[] | null;
  readonly options: ResolvedOptions;
}

/** @throws {SchedulerIntegrityError} naming the first disagreement. */
export function checkSchedulerIntegrity(state: SchedulerState): void {
  const { kv, live, waiting, running, inFlight, options } = state;
  const seen = new Set<Sequence>();
  for (const [status, list] of [
    ['waiting', waiting],
    ['running', running],
  ] as const) {
    for (const [index, sequence] of list.entries()) {
      require(live.get(sequence.id) === sequence && !seen.has(sequence), sequence, `is in ${status} and not live once`);
      require(sequence.status === status, sequence, `is ${sequence.status} in the ${status} list`);
      const before = list[index - 1];
      require(before === undefined ||
        options.policy.compare(before, sequence) < 0, sequence, `is misplaced in ${status}`);
      seen.add(sequence);
    }
  }
  if (seen.size !== live.size) {
    throw new SchedulerIntegrityError(`${live.size} requests are live, ${seen.size} are waiting or running`);
  }
  if (running.length > options.maxNumSeqs) {
    throw new SchedulerIntegrityError(`${running.length} sequences run, the limit is ${options.maxNumSeqs}`);
  }
  if (kv.numSequences !== running.length) {
    throw new SchedulerIntegrityError(`${kv.numSequences} sequences hold blocks, ${running.length} run`);
  }
  for (const sequence of running) {
    const computed = kv.numComputed(sequence.ordinal);
    require(computed ===
      sequence.numComputed, sequence, `counts ${sequence.numComputed} computed tokens, the cache ${computed}`);
    require(sequence.numPending > 0, sequence, 'has nothing left to compute');
    const planned = inFlight?.includes(sequence) === true;
    require(sequence.numScheduled > 0 === planned, sequence, `has ${sequence.numScheduled} tokens in flight`);
  }
  for (const sequence of waiting) {
    require(sequence.numComputed === 0 &&
      sequence.numScheduled === 0, sequence, 'waits with computed or planned tokens');
  }
}

function require(condition: boolean, sequence: Sequence, finding: string): void {
  if (!condition) throw new SchedulerIntegrityError(`request ${sequence.id} ${finding}`);
}
