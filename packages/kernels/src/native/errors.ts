import { DisposedError, LaunchError, ProgramError, WeightLoadError } from '../errors.js';

/** What was being done when the addon threw, for the error's fields. */
export type NativeContext =
  | { readonly launch: string }
  | { readonly compile: string }
  | { readonly weight: string }
  | { readonly create: string };

/** Turns an error of the addon (an `Error` with a `code`, see native/executor/errors.h) into its class. */
export function translateNativeError(error: unknown, context: NativeContext): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error;
  switch (error.code) {
    case 'DSI_DISPOSED':
      return new DisposedError(error.message);
    case 'DSI_OPTION':
    case 'DSI_MEMORY':
      return new RangeError('create' in context ? `${context.create}: ${error.message}` : error.message);
    case 'DSI_PROGRAM':
      return new ProgramError('compile' in context ? context.compile : '', 'binding', '', error.message);
    case 'DSI_WEIGHT':
      return new WeightLoadError('weight' in context ? context.weight : '', error.message);
    case 'DSI_LAUNCH':
      if ('weight' in context) return new WeightLoadError(context.weight, error.message);
      return new LaunchError('launch' in context ? context.launch : '', error.message);
    default:
      return error;
  }
}
