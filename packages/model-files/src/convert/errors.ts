import { ModelFileError } from '../errors.js';

/** A model, or a part of it, that cannot be converted. */
export class UnsupportedConversionError extends ModelFileError {
  override name = 'UnsupportedConversionError';
}
