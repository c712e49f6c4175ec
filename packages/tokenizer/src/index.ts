export { Tokenizer } from './tokenizer.js';
export type { DecodeOptions, EncodeOptions, TextRange } from './tokenizer.js';
export type { SpecialToken, SpecialTokens } from './special-tokens.js';
export type { ChatTemplateSource } from './tokenizer-parts.js';
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
export { StopFilter } from './stop-filter.js';
export type { StopFilterOptions } from './stop-filter.js';
export { StreamDecoder } from './stream-decoder.js';
export type { StreamDecoderOptions } from './stream-decoder.js';
export { ChatTemplate } from './chat-template/chat-template.js';
export type { ChatTemplateOptions, RenderedChat, RenderOptions } from './chat-template/chat-template.js';
export type { ChatMessage } from './chat-template/messages.js';
export type { ContinuedField } from './chat-template/continuation.js';
export type { ChatTemplateLimits } from './chat-template/run.js';
export {
  ChatTemplateError,
  ChatTemplateLimitError,
  ChatTemplateRaisedError,
  ChatTemplateSyntaxError,
  ChatTemplateValueError,
} from './chat-template/errors.js';
