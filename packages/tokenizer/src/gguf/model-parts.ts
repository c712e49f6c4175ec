import type { TokenizerParts } from '../tokenizer-parts.js';
import type { Vocabulary } from '../vocabulary.js';
import type { MetadataReader } from './metadata.js';

/** Values of `tokenizer.ggml.token_type`. */
export const TokenType = { Normal: 1, Unknown: 2, Control: 3, UserDefined: 4, Unused: 5, Byte: 6 } as const;

/** What the readers of the model kinds share. */
export interface GgufVocabulary {
  readonly reader: MetadataReader;
  readonly tokens: readonly string[];
  /** Type of each token; all normal when the file has none. */
  readonly types: ArrayLike<number>;
  readonly vocabulary: Vocabulary;
}

/** The model-specific parts, and which special tokens are added where the file does not say. */
export interface GgufModelParts extends Pick<TokenizerParts, 'normalizer' | 'encoder' | 'decoder'> {
  readonly defaults: { readonly addBos: boolean; readonly addEos: boolean; readonly addSep: boolean };
}
