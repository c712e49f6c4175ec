/** Where and what: carried by every error about a model file. */
export interface ModelFileErrorDetails {
  /** Path of the file or directory. */
  readonly file: string;
  /** The thing that is wrong, for example `tensor count` or `tensor blk.0.attn_q.weight`. */
  readonly field: string;
  /** What the file has there. */
  readonly value?: string | number | bigint | undefined;
  /** What would have been accepted. */
  readonly limit?: string | number | bigint | undefined;
}

/** Base of all errors about model files: a subclass says what kind, the fields say where. */
export class ModelFileError extends Error {
  override name = 'ModelFileError';
  readonly file: string;
  readonly field: string;
  readonly value: string | number | bigint | undefined;
  readonly limit: string | number | bigint | undefined;
  constructor(message: string, details: ModelFileErrorDetails, options?: ErrorOptions) {
    super(`${details.file}: ${message}`, options);
    this.file = details.file;
    this.field = details.field;
    this.value = details.value;
    this.limit = details.limit;
  }
}

/** The path does not exist, is unreadable, or is no kind of model that this package opens. */
export class ModelNotFoundError extends ModelFileError {
  override name = 'ModelNotFoundError';
}

/** The first bytes are not those of the format. */
export class BadMagicError extends ModelFileError {
  override name = 'BadMagicError';
}

/** A format version or byte order that is not read. */
export class UnsupportedVersionError extends ModelFileError {
  override name = 'UnsupportedVersionError';
}

/** The file ends before something that its header announces. */
export class TruncatedFileError extends ModelFileError {
  override name = 'TruncatedFileError';
}

/** A count, length or depth beyond what the file can hold or this package accepts. */
export class LimitExceededError extends ModelFileError {
  override name = 'LimitExceededError';
}

/** A value that the format does not allow there. */
export class MalformedFieldError extends ModelFileError {
  override name = 'MalformedFieldError';
}

/** A metadata or tensor type that is not known. */
export class UnknownTypeError extends ModelFileError {
  override name = 'UnknownTypeError';
}

/** The same key or tensor name twice. */
export class DuplicateNameError extends ModelFileError {
  override name = 'DuplicateNameError';
}

/** A tensor whose bytes overlap another's, lie outside the file, are misaligned, or do not fit its shape. */
export class TensorLayoutError extends ModelFileError {
  override name = 'TensorLayoutError';
}

/** A tensor that was asked for and is not in the model. */
export class TensorNotFoundError extends ModelFileError {
  override name = 'TensorNotFoundError';
}
