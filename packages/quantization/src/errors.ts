/** Base of every error this package throws. */
export class QuantizationError extends Error {
  override name = 'QuantizationError';
}

/** A weight format that this package does not know. */
export class UnknownFormatError extends QuantizationError {
  override name = 'UnknownFormatError';
  constructor(
    readonly format: string | number,
    readonly supported: readonly string[],
  ) {
    super(`Unknown weight format ${JSON.stringify(format)}. Supported: ${supported.join(', ')}.`);
  }
}

/** A known format that cannot be read or produced here (`operation` says which). */
export class UnsupportedFormatError extends QuantizationError {
  override name = 'UnsupportedFormatError';
  constructor(
    readonly operation: 'quantize' | 'dequantize' | 'unpack',
    readonly format: string,
    readonly supported: readonly string[],
  ) {
    super(`Cannot ${operation} ${format}. Formats that can be used here: ${supported.join(', ')}.`);
  }
}

/** A buffer, row or shape whose size does not fit the format. */
export class SizeMismatchError extends QuantizationError {
  override name = 'SizeMismatchError';
  /**
   * @param field what has the wrong size, for example `bytes` or `rowLength`
   * @param actual the size that was given
   * @param expected the size, or the rule, that it has to satisfy
   */
  constructor(
    readonly field: string,
    readonly actual: number,
    readonly expected: number | string,
    context: string,
  ) {
    super(`${context}: ${field} is ${actual}, expected ${expected}.`);
  }
}

/** A weight that the format cannot represent: not finite, or so large that a 16-bit scale overflows. */
export class UnrepresentableWeightError extends QuantizationError {
  override name = 'UnrepresentableWeightError';
  /** @param index position in the values given, or of the block's first weight */
  constructor(
    readonly format: string,
    readonly index: number,
    readonly value: number,
  ) {
    super(`${format} cannot hold the value ${value} at index ${index}. Use F32 or BF16 for this tensor.`);
  }
}
