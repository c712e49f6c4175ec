import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { Tokenizer } from '../src/tokenizer.js';

/** Text of a fixture file, unpacked. */
export function fixtureText(name: string): string {
  const bytes = readFileSync(new URL(`./fixtures/${name}`, import.meta.url));
  return (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8');
}

export function fixtureJson<T>(name: string): T {
  return JSON.parse(fixtureText(name)) as T;
}

/** One small tokenizer with what the reference gives for it. */
export interface SmallTokenizer {
  readonly name: string;
  readonly tokenizer: object;
  readonly cases: readonly {
    readonly text: string;
    readonly ids: readonly number[];
    /** With special tokens added, where that differs. */
    readonly framed?: readonly number[];
    readonly decoded: string;
    readonly skipped?: string;
  }[];
  readonly decodes: readonly { readonly ids: readonly number[]; readonly decoded: string }[];
}

export function smallTokenizers(): readonly SmallTokenizer[] {
  return fixtureJson('tokenizers.json.gz');
}

export interface Reference {
  readonly prompts: readonly { readonly name: string; readonly text: string; readonly ids: readonly number[] }[];
  readonly 'dsi-mini': readonly { readonly text: string; readonly ids: readonly number[] }[];
  readonly 'qwen3-trimmed': readonly { readonly text: string; readonly ids: readonly number[] }[];
}

/** A tokenizer with DeepSeek-V3's pre-tokenizer, special tokens and chat template. */
export function deepseekTokenizer(): Tokenizer {
  return Tokenizer.fromJson(fixtureText('dsi-mini.tokenizer.json.gz'), fixtureText('dsi-mini.tokenizer_config.json'));
}

/** Qwen3's tokenizer, trimmed; ids of common text are the full one's. */
export function qwenTokenizer(): Tokenizer {
  return Tokenizer.fromJson(fixtureText('qwen3-trimmed.json.gz'), {
    eos_token: '<|im_end|>',
    pad_token: '<|endoftext|>',
  });
}
