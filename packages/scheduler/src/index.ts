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
export type { RankedSequence, SchedulingPolicy } from './policy.js';
export type { FinishReason, ForkRequest, SchedulerRequest, SequenceStatus, SequenceView } from './request.js';
export type { Scheduler, SchedulerOptions, SchedulerStats } from './scheduler.js';
export type { FinishedRequest, PlannedRequest, StepOutput, StepPlan, StepResult, UpdateResult } from './step-plan.js';
