export {
  InvalidRequestError,
  QueueFullError,
  RequestTooLongError,
  SchedulerConfigError,
  SchedulerError,
  SchedulerIntegrityError,
  SchedulerStateError,
  UnknownRequestError,
} from './errors.js';
export { FcfsPolicy } from './fcfs-policy.js';
export { IterationScheduler } from './iteration-scheduler.js';
export { createPolicy, POLICY_NAMES } from './policies.js';
export { PriorityPolicy, type PriorityPolicyOptions } from './priority-policy.js';
export type { RankedSequence, SchedulingPolicy } from './policy.js';
export type { FinishReason, ForkRequest, SchedulerRequest, SequenceStatus, SequenceView } from './request.js';
export type { Scheduler, SchedulerOptions, SchedulerStats } from './scheduler.js';
export type { FinishedRequest, PlannedRequest, StepOutput, StepPlan, StepResult, UpdateResult } from './step-plan.js';
