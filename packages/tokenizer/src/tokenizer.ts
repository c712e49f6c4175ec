import { TokenMatchers } from './added-tokens/token-matchers.js';
import { IdSink } from './bpe/id-sink.js';
import type { TokenStream } from './decoders/decoder.js';
import { TokenIdError } from './errors.js';
import { tokenizerFromGguf, type GgufMetadata } from './gguf/from-gguf.js';
import { tokenizerFromJson } from './json/from-json.js';
import { atOnce, inSlices } from './slices.js';
import type { SpecialTokens } from './special-tokens.js';
import type { ChatTemplateSource, TokenizerParts } from './tokenizer-parts.js';
import type { Vocabulary } from './vocabulary.js';

export interface EncodeOptions {
  /** Put BOS, EOS, … around the ids as the description says. Default true. */
  readonly addSpecialTokens?: boolean;
  /**
   * Recognise the text of control tokens (`<|im_end|>`) as these tokens. Default false: text from users stays text,
   * whatever it spells. Set it for text of your own only.
   */
  readonly parseSpecial?: boolean;
}

export interface DecodeOptions {
  /** Leave special tokens out of the text. Default false. */
  readonly skipSpecialTokens?: boolean;
}

/** Room for ids that is kept between calls. */
const MAX_KEPT_IDS = 1 << 18;

/** Half-open range of UTF-16 indices. */
export type TextRange = readonly [start: number, end: number];

/**
 * Text to token ids and back. Immutable; `encode` and `decode` keep only bounded scratch, so one instance serves any
 * number of callers of one thread.
 */
export class Tokenizer {
  readonly vocabulary: Vocabulary;
  readonly specialTokens: SpecialTokens;
  /** Ids that `skipSpecialTokens` leaves out. */
  readonly specialIds: ReadonlySet<number>;
  readonly chatTemplate: ChatTemplateSource | undefined;
  private readonly parts: TokenizerParts;
  private readonly matchers: TokenMatchers;
  private sink = new IdSink();

  constructor(parts: TokenizerParts) {
    this.parts = parts;
    this.vocabulary = parts.vocabulary;
    this.specialTokens = parts.specialTokens;
    this.chatTemplate = parts.chatTemplate;
    this.matchers = new TokenMatchers(parts.vocabulary.added, parts.normalizer);
    const { added } = parts.vocabulary;
    this.specialIds = new Set(added.filter((token) => token.special).map((token) => token.id));
  }

  /**
   * Reads a Hugging Face description.
   * @param tokenizerJson tokenizer.json, as text or parsed
   * @param tokenizerConfig tokenizer_config.json, as text or parsed: names of special tokens, BOS rule, chat template
   * @throws TokenizerFormatError, UnsupportedTokenizerError
   */
  static fromJson(tokenizerJson: string | object, tokenizerConfig?: string | object): Tokenizer {
    return new Tokenizer(atOnce(tokenizerFromJson(tokenizerJson, tokenizerConfig)));
  }

  /**
   * As {@link fromJson}, without holding the thread for long: reads tokenizer.json in slices of a few milliseconds.
   * @param tokenizerJson as text: a parsed object is read in one go
   * @param pause awaited between slices, so that the event loop runs: `setImmediate` of node:timers/promises
   * @param sliceMs length of a slice. Default 8.
   * @throws as `fromJson`
   */
  static async fromJsonInSlices(
    tokenizerJson: string | object,
    tokenizerConfig: string | object | undefined,
    pause: () => Promise<unknown>,
    sliceMs = 8,
  ): Promise<Tokenizer> {
    return new Tokenizer(await inSlices(tokenizerFromJson(tokenizerJson, tokenizerConfig), pause, sliceMs));
  }

  /**
   * Reads the vocabulary of a GGUF file.
   * @param metadata the file's key-value pairs; only keys that begin with `tokenizer.` are read
   * @throws TokenizerFormatError, UnsupportedTokenizerError
   */
  static fromGguf(metadata: GgufMetadata): Tokenizer {
    return new Tokenizer(tokenizerFromGguf(metadata));
  }

  /** One more than the largest token id. The model's embedding may have more rows. */
  get vocabSize(): number {
    return this.vocabulary.size;
  }

  /** Whether `encode` puts BOS in front by default. */
  get addsBos(): boolean {
    const bos = this.specialTokens.bos;
    return bos !== undefined && this.parts.frame.prefix[0] === bos.id;
  }

  /** Ids of `text`. Lone surrogates count as U+FFFD. The result is the caller's. */
  encode(text: string, options: EncodeOptions = {}): Uint32Array {
    const { addSpecialTokens = true, parseSpecial = false } = options;
    const sink = this.emptySink();
    if (addSpecialTokens) for (const id of this.parts.frame.prefix) sink.push(id);
    this.encodeText(text, true, parseSpecial, sink);
    if (addSpecialTokens) for (const id of this.parts.frame.suffix) sink.push(id);
    return sink.toArray();
  }

  /**
   * Ids of `text` with control tokens recognised, except where they would touch one of `literal`: for text of one's
   * own with text of others inside. No special tokens are added.
   * @param literal ascending, disjoint ranges of `text`
   */
  encodeWithLiterals(text: string, literal: readonly TextRange[]): Uint32Array {
    const sink = this.emptySink();
    for (const segment of this.matchers.controls.split(text, literal)) {
      if (segment.token !== undefined) sink.push(segment.token.id);
      else this.encodeText(text.slice(segment.start, segment.end), segment.start === 0, false, sink);
    }
    return sink.toArray();
  }

  /** Scratch for the ids of one call; what a very long text needed is given back by the next. */
  private emptySink(): IdSink {
    if (this.sink.ids.length > MAX_KEPT_IDS) this.sink = new IdSink();
    this.sink.length = 0;
    return this.sink;
  }

  private encodeText(text: string, atStart: boolean, parseSpecial: boolean, sink: IdSink): void {
    const { raw } = parseSpecial ? this.matchers.all : this.matchers.text;
    if (raw.isEmpty) {
      this.encodeRaw(text, atStart, parseSpecial, sink);
      return;
    }
    for (const { start, end, token } of raw.split(text)) {
      if (token !== undefined) sink.push(token.id);
      else this.encodeRaw(text.slice(start, end), atStart && start === 0, parseSpecial, sink);
    }
  }

  private encodeRaw(text: string, atStart: boolean, parseSpecial: boolean, sink: IdSink): void {
    const { normalizer, encoder } = this.parts;
    const normalized = normalizer === undefined ? text : normalizer(text);
    const matcher = (parseSpecial ? this.matchers.all : this.matchers.text).normalized;
    if (matcher.isEmpty) {
      encoder.encode(normalized, atStart, sink);
      return;
    }
    for (const { start, end, token } of matcher.split(normalized)) {
      if (token !== undefined) sink.push(token.id);
      else encoder.encode(normalized.slice(start, end), atStart && start === 0, sink);
    }
  }

  /** Text of `ids`. Invalid UTF-8 becomes U+FFFD; ids without a token contribute nothing. */
  decode(ids: ArrayLike<number>, options: DecodeOptions = {}): string {
    if (options.skipSpecialTokens !== true || this.specialIds.size === 0) return this.parts.decoder.decode(ids);
    const kept: number[] = [];
    for (let i = 0; i < ids.length; i++) if (!this.specialIds.has(ids[i]!)) kept.push(ids[i]!);
    return this.parts.decoder.decode(kept);
  }

  /** An incremental decoder of one sequence, without stop strings; see `StreamDecoder` for those. */
  decodeStream(): TokenStream {
    return this.parts.decoder.stream();
  }

  /**
   * The bytes that a token stands for inside text: UTF-8, possibly a part of a character. Do not modify.
   * @throws TokenIdError for an id outside the vocabulary
   */
  tokenBytes(id: number): Uint8Array {
    if (!Number.isInteger(id) || id < 0 || id >= this.vocabSize) throw new TokenIdError(id, this.vocabSize);
    return this.parts.decoder.bytesOf(id);
  }

  /** The id of a token as the vocabulary spells it (`Ġhello`, `▁hello`), or undefined. */
  idOf(token: string): number | undefined {
    return this.vocabulary.idOf(token);
  }

  /** The vocabulary's spelling of an id, or undefined. */
  tokenOf(id: number): string | undefined {
    return this.vocabulary.tokenOf(id);
  }
}
