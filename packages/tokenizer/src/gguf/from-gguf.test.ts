import { describe, expect, it } from 'vitest';
import { fixtureJson, type Reference, smallTokenizers, deepseekTokenizer } from '../../test/fixtures.js';
import { TokenizerFormatError, UnsupportedTokenizerError } from '../errors.js';
import { Tokenizer } from '../tokenizer.js';

interface JsonTokenizer {
  readonly added_tokens: readonly { readonly id: number; readonly content: string; readonly special: boolean }[];
  readonly model: { readonly vocab: Record<string, number>; readonly merges: readonly (string | readonly string[])[] };
}

/** The metadata that a converter writes for a byte-level tokenizer.json. */
function metadataOf(json: JsonTokenizer, pre: string): Map<string, unknown> {
  const tokens: string[] = [];
  const types: number[] = [];
  for (const [token, id] of Object.entries(json.model.vocab)) {
    tokens[id] = token;
    types[id] = 1;
  }
  for (const { id, content, special } of json.added_tokens) {
    tokens[id] = content;
    types[id] = special || /^<[|｜].*[|｜]>$/.test(content) ? 3 : 4;
  }
  return new Map<string, unknown>([
    ['tokenizer.ggml.model', 'gpt2'],
    ['tokenizer.ggml.pre', pre],
    ['tokenizer.ggml.tokens', tokens],
    ['tokenizer.ggml.token_type', Int32Array.from(types)],
    ['tokenizer.ggml.merges', json.model.merges.map((m) => (typeof m === 'string' ? m : m.join(' ')))],
  ]);
}

const deepseek = deepseekTokenizer();

describe('gpt2 vocabularies', () => {
  const json = fixtureJson<JsonTokenizer>('dsi-mini.tokenizer.json.gz');
  const metadata = metadataOf(json, 'deepseek-v3')
    .set('tokenizer.ggml.bos_token_id', 0)
    .set('tokenizer.ggml.eos_token_id', 1n)
    .set('tokenizer.ggml.add_bos_token', true)
    .set('tokenizer.chat_template', 'x');
  const tokenizer = Tokenizer.fromGguf(metadata);

  it('gives the ids of the tokenizer.json it was made from', () => {
    for (const { text, ids } of fixtureJson<Reference>('reference.json.gz')['dsi-mini']) {
      expect([...tokenizer.encode(text, { addSpecialTokens: false, parseSpecial: true })], text).toEqual(ids);
      expect(tokenizer.decode(ids)).toBe(deepseek.decode(ids));
    }
  });

  it('reads special tokens, the BOS rule and the chat template', () => {
    expect(tokenizer.specialTokens.eos).toEqual({ id: 1, token: '<｜end▁of▁sentence｜>' });
    expect([...tokenizer.encode('')]).toEqual([0]);
    expect(tokenizer.chatTemplate).toBe('x');
    const plain = Tokenizer.fromGguf(Object.fromEntries(metadata));
    expect(plain.vocabSize).toBe(tokenizer.vocabSize);
  });

  it.each([
    ['llama3', 'llama-bpe'],
    ['gpt4o', 'gpt-4o'],
    ['falcon', 'falcon'],
    ['deepseek_llm', 'deepseek-llm'],
    ['deepseek_coder', 'deepseek-coder'],
  ])('%s is what "%s" means', (name, pre) => {
    const entry = smallTokenizers().find((t) => t.name === name)!;
    const fromGguf = Tokenizer.fromGguf(metadataOf(entry.tokenizer as JsonTokenizer, pre));
    for (const { text, ids } of entry.cases) {
      expect([...fromGguf.encode(text, { addSpecialTokens: false, parseSpecial: true })], text).toEqual(ids);
    }
  });

  it('refuses unknown pre-tokenizers and models by name', () => {
    expect(() => Tokenizer.fromGguf(new Map(metadata).set('tokenizer.ggml.pre', 'new-model'))).toThrow(
      /tokenizer\.ggml\.pre "new-model".*deepseek-v3/s,
    );
    expect(() => Tokenizer.fromGguf(new Map(metadata).set('tokenizer.ggml.model', 'rwkv'))).toThrow(
      UnsupportedTokenizerError,
    );
  });

  it.each([
    ['tokenizer.ggml.model', undefined],
    ['tokenizer.ggml.tokens', undefined],
    ['tokenizer.ggml.tokens', [1, 2]],
    ['tokenizer.ggml.merges', undefined],
    ['tokenizer.ggml.merges', ['a']],
    ['tokenizer.ggml.merges', ['no such']],
    ['tokenizer.ggml.token_type', [1]],
    ['tokenizer.ggml.add_bos_token', 'yes'],
    ['tokenizer.ggml.bos_token_id', 'zero'],
  ])('refuses a malformed %s', (key, value) => {
    expect(() => Tokenizer.fromGguf(new Map(metadata).set(key, value))).toThrow(TokenizerFormatError);
  });
});

describe('llama vocabularies', () => {
  const texts = ['▁', 'a', 'b', 'c', 'ab', '▁a', '▁ab', 'abc', '<0x0A>', '<0xC3>', '<0xA9>'];
  const metadata = {
    'tokenizer.ggml.model': 'llama',
    'tokenizer.ggml.tokens': ['<unk>', '<s>', '</s>', ...texts],
    'tokenizer.ggml.scores': [0, 0, 0, -9, -9, -9, -9, -2, -1, -3, -4, 0, 0, 0],
    'tokenizer.ggml.token_type': [2, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 6, 6, 6],
  };
  const tokenizer = Tokenizer.fromGguf(metadata);
  const spell = (text: string) => [...tokenizer.encode(text)].map((id) => tokenizer.tokenOf(id));

  it('merges by score and falls back to bytes', () => {
    expect(spell('ab')).toEqual(['<s>', '▁ab']);
    expect(spell('cab')).toEqual(['<s>', '▁', 'c', 'ab']);
    expect(spell('a\né')).toEqual(['<s>', '▁a', '<0x0A>', '<0xC3>', '<0xA9>']);
    expect(spell('')).toEqual(['<s>']);
  });

  it('decodes back', () => {
    expect(tokenizer.decode(tokenizer.encode('a\né cab'), { skipSpecialTokens: true })).toBe('a\né cab');
  });

  it('keeps control tokens out of text', () => {
    expect(spell('<s>')).not.toContain('<s>'.repeat(2));
    expect([...tokenizer.encode('<s>')].filter((id) => id === 1)).toHaveLength(1);
  });
});

describe('t5 and bert vocabularies', () => {
  it('segments with the unigram model', () => {
    const tokenizer = Tokenizer.fromGguf({
      'tokenizer.ggml.model': 't5',
      'tokenizer.ggml.tokens': ['<pad>', '</s>', '<unk>', '▁he', 'llo', '▁hel', 'lo', '▁', 'h', 'e', 'l', 'o'],
      'tokenizer.ggml.scores': [0, 0, 0, -2, -2, -3, -3, -4, -5, -5, -5, -5],
      'tokenizer.ggml.token_type': [3, 3, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1],
    });
    expect([...tokenizer.encode('hello hel')].map((id) => tokenizer.tokenOf(id))).toEqual([
      '▁he',
      'llo',
      '▁hel',
      '</s>',
    ]);
    expect(tokenizer.decode(tokenizer.encode('hello hel'), { skipSpecialTokens: true })).toBe('hello hel');
  });

  it('cuts words into pieces', () => {
    const tokens = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '▁play', 'ing', '▁,', '▁now'];
    const tokenizer = Tokenizer.fromGguf({
      'tokenizer.ggml.model': 'bert',
      'tokenizer.ggml.tokens': tokens,
      'tokenizer.ggml.token_type': [3, 3, 3, 3, 1, 1, 1, 1],
      'tokenizer.ggml.unknown_token_id': 1,
      'tokenizer.ggml.cls_token_id': 2,
      'tokenizer.ggml.seperator_token_id': 3,
    });
    const ids = [...tokenizer.encode('Playing, now xyz')];
    expect(ids.map((id) => tokens[id])).toEqual(['[CLS]', '▁play', 'ing', '▁,', '▁now', '[UNK]', '[SEP]']);
  });
});
