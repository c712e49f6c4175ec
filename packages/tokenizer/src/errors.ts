/** Base of every error that this package throws on purpose. */
export class TokenizerError extends Error {
  override name = 'TokenizerError';
}

/** A tokenizer description (tokenizer.json, tokenizer_config.json, GGUF metadata) is malformed. */
export class TokenizerFormatError extends TokenizerError {
  override name = 'TokenizerFormatError';
  /** Where in the description, for example `model.vocab` or `tokenizer.ggml.tokens`. */
  readonly path: string;

  constructor(path: string, problem: string) {
    super(`${path}: ${problem}`);
    this.path = path;
  }
}

/** A tokenizer description is well formed but asks for something that this package does not implement. */
export class UnsupportedTokenizerError extends TokenizerError {
  override name = 'UnsupportedTokenizerError';
  /** The kind of part, for example `pre_tokenizer` or `tokenizer.ggml.pre`. */
  readonly kind: string;
  /** The name that the description gave. */
  readonly value: string;
  /** The names that are supported, where that is a list. */
  readonly supported: readonly string[];

  constructor(kind: string, value: string, supported: readonly string[] = [], remedy = '') {
    const list = supported.length > 0 ? ` Supported: ${supported.join(', ')}.` : '';
    super(`${kind} "${value}" is not supported.${list}${remedy === '' ? '' : ` ${remedy}`}`);
    this.kind = kind;
    this.value = value;
    this.supported = supported;
  }
}

/** A token id is outside the vocabulary. */
export class TokenIdError extends TokenizerError {
  override name = 'TokenIdError';
  readonly id: number;
  readonly vocabSize: number;

  constructor(id: number, vocabSize: number) {
    super(`token id ${id} is outside the vocabulary of ${vocabSize} ids (0 to ${vocabSize - 1})`);
    this.id = id;
    this.vocabSize = vocabSize;
  }
}

/** Text that the model's vocabulary cannot express, where the tokenizer has no unknown token. */
export class UnencodableTextError extends TokenizerError {
  override name = 'UnencodableTextError';
  readonly text: string;

  constructor(text: string, problem: string) {
    super(problem);
    this.text = text;
  }
}
