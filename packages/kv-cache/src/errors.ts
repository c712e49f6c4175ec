/** Base of every error of this package; `code` is stable and meant for programs. */
export class KvCacheError extends Error {
  /** Spelled out in every class: bundlers rename classes. */
  override readonly name: string = 'KvCacheError';

  constructor(
    readonly code: 'config' | 'capacity' | 'state' | 'integrity',
    message: string,
  ) {
    super(message);
  }
}

/** A constructor argument or a call argument lies outside its documented range. */
export class KvConfigError extends KvCacheError {
  override readonly name: string = 'KvConfigError';

  constructor(
    readonly field: string,
    readonly value: unknown,
    readonly allowed: string,
  ) {
    super('config', `${field} is ${String(value)}; it must be ${allowed}`);
  }
}

/**
 * A sequence needs more KV memory than the whole pool has, so waiting cannot help.
 * Both figures are given in tokens and in blocks.
 */
export class KvCapacityError extends KvCacheError {
  override readonly name: string = 'KvCapacityError';

  constructor(
    readonly neededTokens: number,
    readonly capacityTokens: number,
    readonly neededBlocks: number,
    readonly capacityBlocks: number,
  ) {
    super(
      'capacity',
      `${neededTokens} tokens need ${neededBlocks} KV blocks, but the whole pool has ${capacityBlocks} ` +
        `(${capacityTokens} tokens); shorten the prompt, lower the maximum of new tokens or enlarge the pool`,
    );
  }
}

/** A call does not fit the state of its subject (unknown or duplicate sequence, block released twice, ...). */
export class KvStateError extends KvCacheError {
  override readonly name: string = 'KvStateError';

  constructor(
    readonly subject: string,
    message: string,
  ) {
    super('state', `${subject}: ${message}`);
  }
}

/** An invariant is broken: a defect of this package or of a caller that wrote into its arrays. */
export class KvIntegrityError extends KvCacheError {
  override readonly name: string = 'KvIntegrityError';

  constructor(readonly finding: string) {
    super('integrity', `KV cache integrity: ${finding}`);
  }
}

/** @throws {KvConfigError} unless `value` is an integer in [min, max]. */
export function requireInteger(field: string, value: number, min: number, max: number): void {
  if (!Number.isInteger(value) || value < min || value > max) {
    throw new KvConfigError(field, value, `an integer from ${min} to ${max}`);
  }
}
