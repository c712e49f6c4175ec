import { SchedulerConfigError } from './errors.js';
import { FcfsPolicy } from './fcfs-policy.js';
import type { SchedulingPolicy } from './policy.js';
import { PriorityPolicy } from './priority-policy.js';

const MAKERS: ReadonlyMap<string, () => SchedulingPolicy> = new Map<string, () => SchedulingPolicy>([
  ['fcfs', () => new FcfsPolicy()],
  ['priority', () => new PriorityPolicy()],
]);

/** Names that `createPolicy` knows. */
export const POLICY_NAMES: readonly string[] = [...MAKERS.keys()];

/** A policy with its default options. @throws {SchedulerConfigError} for an unknown name. */
export function createPolicy(name: string): SchedulingPolicy {
  const make = MAKERS.get(name);
  if (make === undefined) throw new SchedulerConfigError('policy', name, `one of ${POLICY_NAMES.join(', ')}`);
  return make();
}
