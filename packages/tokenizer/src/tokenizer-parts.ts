import type { TokenDecoder } from './decoders/decoder.js';
import type { SegmentEncoder } from './models/model.js';
import type { Normalizer } from './normalizers/normalizer.js';
import type { SpecialFrame } from './post-processors/post-processor.js';
import type { SpecialTokens } from './special-tokens.js';
import type { Vocabulary } from './vocabulary.js';

/** A chat template as a description holds it: one text, or several by name. */
export type ChatTemplateSource = string | readonly { readonly name: string; readonly template: string }[];

/** The parts that a tokenizer is made of; what the readers of tokenizer.json and GGUF produce. */
export interface TokenizerParts {
  readonly vocabulary: Vocabulary;
  /** Undefined: text is taken as it is. */
  readonly normalizer: Normalizer | undefined;
  readonly encoder: SegmentEncoder;
  readonly decoder: TokenDecoder;
  readonly frame: SpecialFrame;
  readonly specialTokens: SpecialTokens;
  readonly chatTemplate: ChatTemplateSource | undefined;
}
