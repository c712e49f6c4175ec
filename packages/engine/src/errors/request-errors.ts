import { EngineError } from './engine-error.js';

/** A request parameter is out of its range or of the wrong type. `param` is the field in the snake_case of HTTP APIs. */
export class InvalidParameterError extends EngineError {
  override readonly name: string = 'InvalidParameterError';
  readonly code = 'invalid_parameter';
  readonly field: string;
  readonly value: unknown;
  /** What is allowed, in words: `0 to 2`. */
  readonly limit: string;

  constructor(fields: { field: string; value: unknown; limit: string }) {
    super(`${fields.field} is ${describe(fields.value)}, but must be ${fields.limit}`);
    this.field = fields.field;
    this.value = fields.value;
    this.limit = fields.limit;
  }

  get param(): string {
    return this.field.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`);
  }
}

/** Prompt (plus at least one new token) does not fit the context. */
export class ContextLengthError extends EngineError {
  override readonly name: string = 'ContextLengthError';
  readonly code = 'context_length_exceeded';
  readonly promptTokens: number;
  readonly maxTokens: number;
  readonly maxModelLen: number;

  constructor(fields: { promptTokens: number; maxTokens: number; maxModelLen: number }) {
    super(
      `the prompt has ${fields.promptTokens} tokens and asks for ${fields.maxTokens} more, ` +
        `but the context holds ${fields.maxModelLen}: shorten the prompt, lower maxTokens or raise maxModelLen`,
    );
    this.promptTokens = fields.promptTokens;
    this.maxTokens = fields.maxTokens;
    this.maxModelLen = fields.maxModelLen;
  }
}

/** The request needs more KV-cache tokens than the whole pool has: it could never run. */
export class KvCapacityError extends EngineError {
  override readonly name: string = 'KvCapacityError';
  readonly code = 'kv_capacity_exceeded';
  readonly neededTokens: number;
  readonly capacityTokens: number;

  constructor(fields: { neededTokens: number; capacityTokens: number }) {
    super(
      `the request needs KV cache for ${fields.neededTokens} tokens, but the whole pool holds ${fields.capacityTokens}: ` +
        'shorten it, lower maxTokens or give the pool more memory (kvCacheMemory)',
    );
    this.neededTokens = fields.neededTokens;
    this.capacityTokens = fields.capacityTokens;
  }
}

/** The waiting queue is at its limit; try again later. */
export class QueueFullError extends EngineError {
  override readonly name: string = 'QueueFullError';
  readonly code = 'queue_full';
  readonly waiting: number;
  readonly limit: number;

  constructor(fields: { waiting: number; limit: number }) {
    super(`${fields.waiting} requests are waiting and the queue's limit is ${fields.limit}: try again later`);
    this.waiting = fields.waiting;
    this.limit = fields.limit;
  }
}

/** The model produced NaN or infinite logits for this request. Nothing it wrote stays in the prefix cache. */
export class NumericalError extends EngineError {
  override readonly name: string = 'NumericalError';
  readonly code = 'numerical_error';
  /** Position in the sequence (prompt and output) whose logits were not finite. */
  readonly position: number;

  constructor(fields: { position: number }) {
    super(`the model's logits at position ${fields.position} are not finite`);
    this.position = fields.position;
  }
}

/** The native call of the step that this request took part in failed. Requests of other steps go on. */
export class StepFailedError extends EngineError {
  override readonly name: string = 'StepFailedError';
  readonly code = 'step_failed';
  readonly reason: string;

  constructor(fields: { reason: string }) {
    super(`the step of this request failed: ${fields.reason}`);
    this.reason = fields.reason;
  }
}

/** A request id is already in use. */
export class DuplicateRequestError extends EngineError {
  override readonly name: string = 'DuplicateRequestError';
  readonly code = 'duplicate_request';
  readonly requestId: string;

  constructor(fields: { requestId: string }) {
    super(`a request with id ${JSON.stringify(fields.requestId)} is already running: ids must be unique`);
    this.requestId = fields.requestId;
  }
}

/** A chat was asked of a model that has no chat template. */
export class ChatTemplateMissingError extends EngineError {
  override readonly name: string = 'ChatTemplateMissingError';
  readonly code = 'no_chat_template';

  constructor() {
    super('the model has no chat template: send a prompt instead of messages');
  }
}

/** Text was given to, or asked of, an engine of random weights, which has no tokenizer. */
export class TokenizerMissingError extends EngineError {
  override readonly name: string = 'TokenizerMissingError';
  readonly code = 'no_tokenizer';

  constructor() {
    super(
      'the model has no tokenizer (no tokenizer.json beside its weights): give token ids and ask for no text, or put the file there',
    );
  }
}

function describe(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  if (typeof value === 'bigint') return `${value}`;
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  return String(value);
}
