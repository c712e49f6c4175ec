import { EngineError } from './engine-error.js';
import {
  BackendUnavailableError,
  EngineClosedError,
  EngineConfigError,
  EngineCrashedError,
  RemoteError,
} from './lifecycle-errors.js';
import {
  ContextLengthError,
  DuplicateRequestError,
  InvalidParameterError,
  KvCapacityError,
  NumericalError,
  QueueFullError,
  StepFailedError,
} from './request-errors.js';

/** An error as plain data that survives structured clone. */
export interface WireError {
  readonly name: string;
  readonly message: string;
  readonly code: string;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly stack?: string;
}

type Revive = (fields: never) => EngineError;

const revivers = new Map<string, Revive>([
  ['InvalidParameterError', (f) => new InvalidParameterError(f)],
  ['ContextLengthError', (f) => new ContextLengthError(f)],
  ['KvCapacityError', (f) => new KvCapacityError(f)],
  ['QueueFullError', (f) => new QueueFullError(f)],
  ['NumericalError', (f) => new NumericalError(f)],
  ['StepFailedError', (f) => new StepFailedError(f)],
  ['DuplicateRequestError', (f) => new DuplicateRequestError(f)],
  ['EngineClosedError', () => new EngineClosedError()],
  ['EngineCrashedError', (f) => new EngineCrashedError(f)],
  ['EngineConfigError', (f) => new EngineConfigError(f)],
  ['BackendUnavailableError', (f) => new BackendUnavailableError(f)],
]);

/** Makes an error postable. Fields that structured clone refuses become their text. */
export function toWire(error: unknown): WireError {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error), code: 'unknown', fields: {} };
  const fields: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(error)) {
    if (key === 'name' || key === 'message' || key === 'stack' || key === 'cause') continue;
    fields[key] = cloneable(value) ? value : String(value);
  }
  const code = typeof fields['code'] === 'string' ? fields['code'] : error.name;
  return {
    name: error.name,
    message: error.message,
    code,
    fields,
    ...(error.stack === undefined ? {} : { stack: error.stack }),
  };
}

/** The typed error again; errors of other packages become a {@link RemoteError} that keeps name, message, code and fields. */
export function fromWire(wire: WireError): EngineError {
  const revive = revivers.get(wire.name);
  const error = revive ? revive(wire.fields as never) : new RemoteError(wire);
  if (wire.stack !== undefined) error.stack = wire.stack;
  return error;
}

function cloneable(value: unknown): boolean {
  try {
    structuredClone(value);
    return true;
  } catch {
    return false;
  }
}
