import { EngineError } from './engine-error.js';

/** The engine was closed before or while this request ran. */
export class EngineClosedError extends EngineError {
  override readonly name: string = 'EngineClosedError';
  readonly code = 'engine_closed';

  constructor(_fields: Record<string, never> = {}) {
    super('the engine is closed: load it again to go on');
  }
}

/** The engine's worker ended unexpectedly; every pending request rejects with this. */
export class EngineCrashedError extends EngineError {
  override readonly name: string = 'EngineCrashedError';
  readonly code = 'engine_crashed';
  readonly reason: string;

  constructor(fields: { reason: string }) {
    super(`the engine's worker ended unexpectedly (${fields.reason}): load the engine again`);
    this.reason = fields.reason;
  }
}

/** One way of running a model and why it is not there. */
export interface BackendCandidate {
  readonly name: string;
  readonly reason: string;
}

/** The requested backend cannot run here. Nothing else is taken in its place. */
export class BackendUnavailableError extends EngineError {
  override readonly name: string = 'BackendUnavailableError';
  readonly code = 'backend_unavailable';
  readonly backend: string;
  readonly candidates: readonly BackendCandidate[];

  constructor(fields: { backend: string; candidates: readonly BackendCandidate[] }) {
    super(
      `the ${fields.backend} backend is not available: ` +
        fields.candidates.map((c) => `${c.name}: ${c.reason}`).join('; ') +
        ". Build the native part, or choose backend: 'reference' (slow)",
    );
    this.backend = fields.backend;
    this.candidates = fields.candidates;
  }
}

/** The model does not fit the engine's settings (context, memory, pool). */
export class EngineConfigError extends EngineError {
  override readonly name: string = 'EngineConfigError';
  readonly code = 'engine_config';
  readonly field: string;
  readonly value: unknown;
  readonly limit: string;

  constructor(fields: { field: string; value: unknown; limit: string }) {
    super(`engine option ${fields.field} is ${String(fields.value)}, but ${fields.limit}`);
    this.field = fields.field;
    this.value = fields.value;
    this.limit = fields.limit;
  }
}

/** An error of another package that came over from the worker: its name, message and code are kept. */
export class RemoteError extends EngineError {
  override readonly name: string;
  readonly code: string;
  readonly fields: Readonly<Record<string, unknown>>;

  constructor(remote: { name: string; message: string; code: string; fields: Readonly<Record<string, unknown>> }) {
    super(remote.message);
    this.name = remote.name;
    this.code = remote.code;
    this.fields = remote.fields;
  }
}
