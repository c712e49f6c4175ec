export { Tokenizer } from './tokenizer.js';
export type {
  ChatTemplateSource,
  DecodeOptions,
  EncodeOptions,
  SpecialToken,
  SpecialTokens,
  TextRange,
} from './tokenizer.js';
export type { GgufMetadata } from './gguf/metadata.js';
export type { TokenStream } from './decoders/decoder.js';
export type { AddedToken } from './vocabulary.js';
export {
  TokenIdError,
  TokenizerError,
  TokenizerFormatError,
  UnencodableTextError,
  UnsupportedTokenizerError,
} from './errors.js';
