/** A configuration value that is absent, of the wrong type or outside its limits. Nothing was built. */
export class ModelConfigError extends Error {
  override readonly name = 'ModelConfigError';

  constructor(
    /** `config.json: rope_scaling.factor` or `GGUF: llama.block_count`. */
    readonly field: string,
    /** The offending value, shortened for the message. */
    readonly value: unknown,
    /** What would be accepted. */
    readonly expected: string,
  ) {
    super(
      `${field} is ${describe(value)}; expected ${expected}. Check that the checkpoint is complete and unmodified.`,
    );
  }
}

/** Something a checkpoint asks for that this package does not implement; `supported` lists what it does. */
export class UnsupportedModelError extends Error {
  override readonly name = 'UnsupportedModelError';

  constructor(
    /** What kind of thing: `architecture`, `RoPE scaling`, `quantization method`, ... */
    readonly kind: string,
    /** The name the checkpoint gives. */
    readonly requested: string,
    readonly supported: readonly string[],
  ) {
    super(`unsupported ${kind} "${shorten(requested)}"; supported: ${supported.join(', ')}.`);
  }
}

/** A tensor that the architecture needs and the checkpoint lacks. */
export class WeightMissingError extends Error {
  override readonly name = 'WeightMissingError';

  constructor(
    readonly weight: string,
    /** File names of the tensor that would have served. */
    readonly candidates: readonly string[],
  ) {
    super(
      `weight ${weight} is missing: the checkpoint has none of ${candidates.join(', ')}. Download all of its files.`,
    );
  }
}

/** A tensor whose shape is not the one that the configuration implies. */
export class WeightShapeError extends Error {
  override readonly name = 'WeightShapeError';

  constructor(
    readonly tensor: string,
    readonly shape: readonly number[],
    readonly expected: readonly number[],
  ) {
    super(
      `tensor ${tensor} has shape [${shape.join(', ')}]; the configuration implies [${expected.join(', ')}]. ` +
        'The weights and the configuration belong to different models.',
    );
  }
}

/** A tensor stored in a way that its place in the model cannot use. */
export class WeightFormatError extends Error {
  override readonly name = 'WeightFormatError';

  constructor(
    readonly tensor: string,
    readonly format: string,
    readonly reason: string,
  ) {
    super(`tensor ${tensor} (${format}): ${reason}.`);
  }
}

/** An option of {@link buildModel} outside what the model allows. */
export class BuildOptionError extends Error {
  override readonly name = 'BuildOptionError';

  constructor(
    readonly option: string,
    readonly value: unknown,
    readonly expected: string,
  ) {
    super(`option ${option} is ${describe(value)}; expected ${expected}.`);
  }
}

function shorten(text: string): string {
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}

function describe(value: unknown): string {
  if (value === undefined) return 'absent';
  if (typeof value === 'string') return JSON.stringify(shorten(value));
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint' || value === null) {
    return String(value);
  }
  return Array.isArray(value) ? `an array of ${value.length}` : `of type ${typeof value}`;
}
