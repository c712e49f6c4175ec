/** What one place that could hold the native addon said when it was tried. */
export interface NativeCandidate {
  /** Path or package name. */
  readonly source: string;
  readonly reason: string;
  /** What to do about it. */
  readonly remedy: string;
}

/** No native build loads on this machine. `candidates` are all places tried, in order. */
export class NativeUnavailableError extends Error {
  override readonly name = 'NativeUnavailableError';
  constructor(readonly candidates: readonly NativeCandidate[]) {
    super(
      `The native kernels are not available (${process.platform}-${process.arch}). Tried:\n` +
        candidates.map((c) => `  ${c.source}: ${c.reason} -> ${c.remedy}`).join('\n'),
    );
  }
}

/** A program, or one of its ops, that a backend cannot run. Found at compile time, never during a launch. */
export class ProgramError extends Error {
  override readonly name = 'ProgramError';
  constructor(
    readonly program: string,
    /** `op 12 (linear)`, or what else of the program is meant: `tensor 3`, `outputs`. */
    readonly where: string,
    /** Operand or attribute; empty when the whole is meant. */
    readonly operand: string,
    detail: string,
  ) {
    super(`program "${program}", ${where}${operand === '' ? '' : `, ${operand}`}: ${detail}`);
  }
}

/** Arguments of one launch that do not fit the program. Nothing was run, unless the message says at which op it ended. */
export class LaunchError extends Error {
  override readonly name = 'LaunchError';
  constructor(
    readonly program: string,
    detail: string,
  ) {
    super(`launch of program "${program}": ${detail}`);
  }
}

/** A weight that cannot be loaded: sizes that do not agree, a file that is too short, an unsupported use. */
export class WeightLoadError extends Error {
  override readonly name = 'WeightLoadError';
  constructor(
    readonly weight: string,
    detail: string,
    options?: ErrorOptions,
  ) {
    super(`weight "${weight}": ${detail}`, options);
  }
}

/** An object that owned native memory was used after `dispose()`. */
export class DisposedError extends Error {
  override readonly name = 'DisposedError';
  constructor(readonly object: string) {
    super(`${object} was used after dispose(): create a new one`);
  }
}
