/** Base of every error of this package; `code` is stable and meant for programs. */
export class SchedulerError extends Error {
  /** Spelled out in every class: bundlers rename classes. */
  override readonly name: string = 'SchedulerError';

  constructor(
    readonly code: 'config' | 'queue_full' | 'too_long' | 'invalid_request' | 'unknown_request' | 'state' | 'integrity',
    message: string,
  ) {
    super(message);
  }
}

/** An option lies outside its documented range, or a policy has no such name. */
export class SchedulerConfigError extends SchedulerError {
  override readonly name: string = 'SchedulerConfigError';

  constructor(
    readonly field: string,
    readonly value: unknown,
    readonly allowed: string,
  ) {
    super('config', `${field} is ${String(value)}; it must be ${allowed}`);
  }
}

/** The waiting queue is at its limit; the request may be sent again later. */
export class QueueFullError extends SchedulerError {
  override readonly name: string = 'QueueFullError';

  constructor(
    readonly queueSize: number,
    readonly limit: number,
  ) {
    super('queue_full', `${queueSize} requests are waiting and the queue's limit is ${limit}; retry later`);
  }
}

/** Prompt and new tokens exceed the model's context. */
export class RequestTooLongError extends SchedulerError {
  override readonly name: string = 'RequestTooLongError';

  constructor(
    readonly requestId: string,
    readonly promptTokens: number,
    readonly maxTokens: number,
    readonly maxModelLen: number,
  ) {
    super(
      'too_long',
      `request ${requestId}: ${promptTokens} prompt tokens and ${maxTokens} new tokens are ` +
        `${promptTokens + maxTokens}, but the context holds ${maxModelLen}; shorten the prompt or lower max_tokens`,
    );
  }
}

/** A field of a request is unusable. */
export class InvalidRequestError extends SchedulerError {
  override readonly name: string = 'InvalidRequestError';

  constructor(
    readonly requestId: string,
    readonly field: string,
    readonly value: unknown,
    readonly allowed: string,
  ) {
    super('invalid_request', `request ${requestId}: ${field} is ${String(value)}; it must be ${allowed}`);
  }
}

/** No live request has this id. */
export class UnknownRequestError extends SchedulerError {
  override readonly name: string = 'UnknownRequestError';

  constructor(readonly requestId: string) {
    super('unknown_request', `request ${requestId} is not live; it ended or was never added`);
  }
}

/** A verb was called out of turn, or a step's result does not fit its plan. */
export class SchedulerStateError extends SchedulerError {
  override readonly name: string = 'SchedulerStateError';

  constructor(message: string) {
    super('state', message);
  }
}

/** An invariant is broken: a defect of this package or of a caller that wrote into its arrays. */
export class SchedulerIntegrityError extends SchedulerError {
  override readonly name: string = 'SchedulerIntegrityError';

  constructor(readonly finding: string) {
    super('integrity', `scheduler integrity: ${finding}`);
  }
}
