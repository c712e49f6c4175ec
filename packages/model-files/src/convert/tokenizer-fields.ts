import { MalformedFieldError } from '../errors.js';
import { gguf } from '../gguf/fields.js';
import type { GgufField } from '../gguf/value.js';
import { UnsupportedConversionError } from './errors.js';
import { preTokenizerName } from './pre-tokenizer.js';

/** Token types of GGUF vocabularies. */
const tokenType = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 } as const;

interface AddedToken {
  readonly id: number;
  readonly content: string;
  readonly special?: boolean;
}

/** The parts of tokenizer.json that a GGUF file carries. */
interface TokenizerJson {
  readonly model?: {
    readonly type?: string;
    readonly vocab?: Record<string, number> | [string, number][];
    readonly merges?: (string | [string, string])[];
    readonly byte_fallback?: boolean;
    readonly unk_token?: string | null;
    readonly unk_id?: number | null;
  };
  readonly added_tokens?: AddedToken[];
  readonly pre_tokenizer?: unknown;
  readonly post_processor?: unknown;
}

export interface TokenizerInput {
  readonly tokenizer: Record<string, unknown>;
  readonly tokenizerConfig: Record<string, unknown>;
  readonly config: Record<string, unknown>;
  readonly chatTemplate: string | undefined;
  readonly vocabSize: number;
  /** tokenizer.ggml.pre, for pre-tokenizers that are not recognised. */
  readonly preTokenizer: string | undefined;
  readonly file: string;
}

interface Vocabulary {
  readonly tokens: string[];
  readonly types: Int32Array;
  readonly scores: Float32Array;
}

function looksSpecial(token: string): boolean {
  return /^<\|.*\|>$|^<｜.*｜>$|^<unused.*>$/.test(token) || token === '<pad>' || token === '<mask>';
}

function buildVocabulary(json: TokenizerJson, size: number, file: string): Vocabulary {
  const tokens = Array.from({ length: size }, (_, i) => `[PAD${i}]`);
  const types = new Int32Array(size).fill(tokenType.unused);
  const scores = new Float32Array(size).fill(-10000);
  const put = (id: number, token: string, type: number, score: number): void => {
    if (!Number.isInteger(id) || id < 0 || id >= size)
      throw new MalformedFieldError(
        `token ${JSON.stringify(token)} has id ${id}, config.json says vocab_size ${size}`,
        {
          file,
          field: 'vocab',
          value: id,
          limit: size - 1,
        },
      );
    tokens[id] = token;
    types[id] = type;
    scores[id] = score;
  };
  const { vocab = {}, merges = [], byte_fallback: byteFallback = false, type } = json.model ?? {};
  const kind = (token: string): number =>
    byteFallback && /^<0x[0-9A-F]{2}>$/.test(token) ? tokenType.byte : tokenType.normal;
  if (Array.isArray(vocab)) for (const [id, [token, score]] of vocab.entries()) put(id, token, kind(token), score);
  else {
    // SentencePiece BPE merges the pair with the highest score first: minus the merge's rank gives the same order.
    const rank = new Map<string, number>();
    if (type === 'BPE' && byteFallback)
      for (const [i, merge] of merges.entries()) {
        const merged = typeof merge === 'string' ? merge.split(' ', 2).join('') : merge.join('');
        if (!rank.has(merged)) rank.set(merged, i);
      }
    for (const [token, id] of Object.entries(vocab)) put(id, token, kind(token), -(rank.get(token) ?? merges.length));
  }
  for (const { id, content, special } of json.added_tokens ?? [])
    put(id, content, special === true || looksSpecial(content) ? tokenType.control : tokenType.userDefined, -1000);
  return { tokens, types, scores };
}

function mergeLines(merges: (string | [string, string])[]): string[] {
  // A space inside a part is written as U+0120, the byte-level alphabet's form of it.
  return merges.map((m) => (typeof m === 'string' ? m : m.map((part) => part.replaceAll(' ', 'Ġ')).join(' ')));
}

/** First and last special token that the post-processor's template puts around a single text. */
function templateEnds(processor: unknown): { first?: string; last?: string } {
  const p = processor as { type?: string; processors?: unknown[]; single?: Record<string, { id?: string }>[] } | null;
  if (p?.type === 'Sequence')
    return (p.processors ?? []).map(templateEnds).reduce((all, ends) => ({ ...all, ...ends }), {});
  if (p?.type !== 'TemplateProcessing' || !Array.isArray(p.single) || p.single.length < 2) return {};
  const first = p.single[0]?.SpecialToken?.id;
  const last = p.single.at(-1)?.SpecialToken?.id;
  return { ...(first !== undefined && { first }), ...(last !== undefined && { last }) };
}

function contentOf(entry: unknown): string | undefined {
  if (typeof entry === 'string') return entry;
  const content = (entry as { content?: unknown } | null | undefined)?.content;
  return typeof content === 'string' ? content : undefined;
}

const specialKeys = [
  ['bos', 'bos_token_id'],
  ['eos', 'eos_token_id'],
  ['unk', 'unknown_token_id'],
  ['sep', 'seperator_token_id'], // spelled so in the format
  ['pad', 'padding_token_id'],
  ['mask', 'mask_token_id'],
] as const;

function specialFields(input: TokenizerInput, json: TokenizerJson, tokens: readonly string[]): [string, GgufField][] {
  const { tokenizerConfig, config } = input;
  const fields: [string, GgufField][] = [];
  const added = new Map((json.added_tokens ?? []).map((t) => [t.content, t.id]));
  for (const [kind, key] of specialKeys) {
    const content = contentOf(tokenizerConfig[`${kind}_token`]);
    const fromConfig = [config[`${kind}_token_id`]].flat()[0];
    const id = (content === undefined ? undefined : added.get(content)) ?? fromConfig;
    if (typeof id === 'number' && Number.isInteger(id) && id >= 0 && id < tokens.length)
      fields.push([`tokenizer.ggml.${key}`, gguf.uint32(id)]);
  }
  const ends = templateEnds(json.post_processor);
  const add = (kind: 'bos' | 'eos', end: string | undefined): void => {
    const explicit = tokenizerConfig[`add_${kind}_token`];
    const value =
      typeof explicit === 'boolean'
        ? explicit
        : end === undefined
          ? undefined
          : end === contentOf(tokenizerConfig[`${kind}_token`]);
    if (value !== undefined) fields.push([`tokenizer.ggml.add_${kind}_token`, gguf.bool(value)]);
  };
  add('bos', ends.first);
  add('eos', ends.last);
  return fields;
}

/**
 * The tokenizer of a GGUF file (tokenizer.ggml.*, tokenizer.chat_template) from tokenizer.json and its companions:
 * byte-level BPE as "gpt2", SentencePiece-like BPE and Unigram as "llama".
 *
 * @throws UnsupportedConversionError for another tokenizer model or an unknown byte-level pre-tokenizer
 */
export function tokenizerFields(input: TokenizerInput): Map<string, GgufField> {
  const json = input.tokenizer as TokenizerJson;
  const { file } = input;
  const type = json.model?.type ?? (json.model?.merges === undefined ? undefined : 'BPE');
  const sentencePiece = type === 'Unigram' || json.model?.byte_fallback === true;
  if (type !== 'BPE' && type !== 'Unigram')
    throw new UnsupportedConversionError(`tokenizer model ${type ?? 'missing'} has no GGUF form here`, {
      file,
      field: 'model.type',
      value: type,
      limit: 'BPE or Unigram',
    });
  const { tokens, types, scores } = buildVocabulary(json, input.vocabSize, file);
  const unknown =
    typeof json.model?.unk_id === 'number' ? json.model.unk_id : tokens.indexOf(json.model?.unk_token ?? '');
  if (unknown >= 0 && sentencePiece) types[unknown] = tokenType.unknown;
  const pre = input.preTokenizer ?? (sentencePiece ? 'default' : preTokenizerName(json.pre_tokenizer, file));
  const fields = new Map<string, GgufField>();
  fields.set('tokenizer.ggml.model', gguf.string(sentencePiece ? 'llama' : 'gpt2'));
  fields.set('tokenizer.ggml.pre', gguf.string(pre));
  fields.set('tokenizer.ggml.tokens', gguf.array(tokens));
  if (sentencePiece) fields.set('tokenizer.ggml.scores', gguf.array(scores));
  fields.set('tokenizer.ggml.token_type', gguf.array(types));
  if (!sentencePiece) fields.set('tokenizer.ggml.merges', gguf.array(mergeLines(json.model?.merges ?? [])));
  for (const [key, field] of specialFields(input, json, tokens)) fields.set(key, field);
  const space = input.tokenizerConfig.add_prefix_space;
  if (sentencePiece && typeof space === 'boolean') fields.set('tokenizer.ggml.add_space_prefix', gguf.bool(space));
  if (input.chatTemplate !== undefined) fields.set('tokenizer.chat_template', gguf.string(input.chatTemplate));
  return fields;
}
