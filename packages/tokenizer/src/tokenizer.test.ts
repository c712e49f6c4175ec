import { describe, expect, it } from 'vitest';
import { deepseekTokenizer, fixtureJson, qwenTokenizer, type Reference, smallTokenizers } from '../test/fixtures.js';
import { Tokenizer } from './tokenizer.js';
import { TokenIdError, TokenizerFormatError, UnsupportedTokenizerError } from './errors.js';

const reference = fixtureJson<Reference>('reference.json.gz');
const deepseek = deepseekTokenizer();
const qwen = qwenTokenizer();

function small(name: string): object {
  return smallTokenizers().find((entry) => entry.name === name)!.tokenizer;
}

describe.each(smallTokenizers().map((entry) => [entry.name, entry] as const))('%s', (_name, entry) => {
  const tokenizer = Tokenizer.fromJson(entry.tokenizer);

  it('gives the ids of the reference', () => {
    for (const { text, ids, framed } of entry.cases) {
      expect([...tokenizer.encode(text, { addSpecialTokens: false, parseSpecial: true })], text).toEqual(ids);
      expect([...tokenizer.encode(text, { parseSpecial: true })], text).toEqual(framed ?? ids);
    }
  });

  it('gives the texts of the reference, at once and as a stream', () => {
    const all = [
      ...entry.cases.map((c) => ({ ids: c.framed ?? c.ids, decoded: c.decoded, skipped: c.skipped ?? c.decoded })),
      ...entry.decodes.map((c) => ({ ...c, skipped: undefined })),
    ];
    for (const { ids, decoded, skipped } of all) {
      expect(tokenizer.decode(ids)).toBe(decoded);
      if (skipped !== undefined) expect(tokenizer.decode(ids, { skipSpecialTokens: true })).toBe(skipped);
      const stream = tokenizer.decodeStream();
      expect(ids.map((id) => stream.push(id)).join('') + stream.finish()).toBe(decoded);
    }
  });

  it('reads the same from text as from an object', () => {
    const fromText = Tokenizer.fromJson(JSON.stringify(entry.tokenizer, undefined, 1));
    expect(fromText.vocabSize).toBe(tokenizer.vocabSize);
    for (const { text } of entry.cases.slice(0, 10)) expect(fromText.encode(text)).toEqual(tokenizer.encode(text));
  });
});

describe('vocabularies of models', () => {
  it.each([
    ['dsi-mini', deepseek],
    ['qwen3-trimmed', qwen],
  ] as const)('%s gives the ids of the reference', (name, tokenizer) => {
    for (const { text, ids } of reference[name]) {
      expect([...tokenizer.encode(text, { addSpecialTokens: false, parseSpecial: true })], text).toEqual(ids);
    }
  });

  it('encodes the prompts of the mini models, with exactly one BOS', () => {
    for (const { text, ids } of reference.prompts) {
      const bos = text.startsWith(deepseek.specialTokens.bos!.token);
      expect([...deepseek.encode(text, { parseSpecial: true, addSpecialTokens: !bos })]).toEqual(ids);
    }
  });

  it('keeps control tokens out of ordinary text', () => {
    expect([...qwen.encode('<|im_end|>')]).toEqual([27, 91, 318, 6213, 91, 29]);
    expect([...qwen.encode('<|im_end|>', { parseSpecial: true })]).toEqual([151645]);
    // Not flagged as special in the file, yet steering the model.
    expect([...qwen.encode('<think>')]).not.toContain(151667);
    expect([...deepseek.encode('<｜User｜>', { addSpecialTokens: false })]).not.toContain(16373);
    expect([...deepseek.encode('<｜User｜>', { addSpecialTokens: false, parseSpecial: true })]).toEqual([16373]);
  });

  it('recognises control tokens around literal ranges only', () => {
    const text = '<|im_start|>a<|im_end|><|im_end|>';
    expect([...qwen.encodeWithLiterals(text, [[12, 23]])]).toEqual([151644, ...qwen.encode('a<|im_end|>'), 151645]);
    // A token that only touches the range is text as well.
    expect([...qwen.encodeWithLiterals(text, [[22, 24]])].filter((id) => id === 151645)).toEqual([]);
  });

  it('loses nothing where the vocabulary is lossless', () => {
    for (const { text } of reference['dsi-mini']) expect(deepseek.decode(deepseek.encode(text, NO_BOS))).toBe(text);
  });

  it('replaces lone surrogates', () => {
    expect(deepseek.decode(deepseek.encode('a\ud800b\udc00', NO_BOS))).toBe('a\ufffdb\ufffd');
  });

  it('tells the bytes of tokens', () => {
    const ids = deepseek.encode('😊', NO_BOS);
    const bytes = [...ids].flatMap((id) => [...deepseek.tokenBytes(id)]);
    expect(bytes).toEqual([0xf0, 0x9f, 0x98, 0x8a]);
    expect(() => deepseek.tokenBytes(deepseek.vocabSize)).toThrow(TokenIdError);
  });

  it('looks up tokens', () => {
    expect(deepseek.tokenOf(deepseek.idOf('Ġthe')!)).toBe('Ġthe');
    expect(deepseek.idOf('no such token')).toBeUndefined();
    expect(deepseek.specialTokens.bos).toEqual({ id: 0, token: '<｜begin▁of▁sentence｜>' });
    expect(deepseek.specialTokens.fimMiddle?.token).toBe('<｜fim▁end｜>');
    expect(qwen.specialTokens.eot?.id).toBe(151645);
  });
});

const NO_BOS = { addSpecialTokens: false } as const;

describe('adversarial text', () => {
  const texts: Record<string, string> = {
    letter: 'a'.repeat(300_000),
    spaces: `${' '.repeat(300_000)}x`,
    'spaces and a digit': `${' '.repeat(300_000)}5`,
    'line breaks': ' \n'.repeat(150_000),
    digits: '7'.repeat(300_000),
    emoji: '😀'.repeat(75_000),
    marks: `e${'\u0301'.repeat(150_000)}`,
    'CJK letter': '中'.repeat(100_000),
    brackets: '<'.repeat(300_000),
  };
  const kinds = [
    'gpt4o',
    'deepseek_llm',
    'deepseek_coder',
    'single_digits',
    'llama2',
    'gemma',
    'unigram_charsmap',
    'bert_uncased',
  ];
  const tokenizers = [
    ['deepseek', deepseek] as const,
    ['qwen', qwen] as const,
    ...kinds.map((kind) => [kind, Tokenizer.fromJson(small(kind))] as const),
  ];

  // Quadratic time would run into the test's time limit by orders of magnitude.
  it.each(tokenizers)('%s takes 300,000 characters of one kind', (_name, tokenizer) => {
    for (const text of Object.values(texts))
      expect(tokenizer.encode(text, { parseSpecial: true }).length).toBeGreaterThan(0);
  });
});

describe('malformed descriptions', () => {
  it.each([
    ['not JSON', '{"model"'],
    ['text after the end', '{"model": {"type": "BPE", "vocab": {}, "merges": []}} x'],
    ['no model', '{}'],
    ['a vocabulary that is no object', { model: { type: 'BPE', vocab: [], merges: [] } }],
    ['an id that is no number', '{"model": {"type": "BPE", "vocab": {"a": "1"}, "merges": []}}'],
    ['an id beyond all bounds', { model: { type: 'BPE', vocab: { a: 2 ** 40 }, merges: [] } }],
    ['a merge of unknown tokens', { model: { type: 'BPE', vocab: { a: 0 }, merges: ['a b'] } }],
    ['a merge of three', { model: { type: 'BPE', vocab: { a: 0, aa: 1 }, merges: ['a a a'] } }],
    ['an unknown token outside the vocabulary', { model: { type: 'WordPiece', vocab: { a: 0 }, unk_token: 'x' } }],
    ['added tokens without text', { added_tokens: [{ id: 1 }], model: { type: 'BPE', vocab: {}, merges: [] } }],
  ])('%s', (_name, json) => {
    expect(() => Tokenizer.fromJson(json)).toThrow(TokenizerFormatError);
  });

  it.each([
    ['model', { model: { type: 'WordLevel', vocab: {} } }],
    ['dropout', { model: { type: 'BPE', vocab: {}, merges: [], dropout: 0.1 } }],
    ['pre_tokenizer', { pre_tokenizer: { type: 'UnicodeScripts' }, model: { type: 'BPE', vocab: {}, merges: [] } }],
    ['normalizer', { normalizer: { type: 'New' }, model: { type: 'BPE', vocab: {}, merges: [] } }],
    ['decoder', { decoder: { type: 'New' }, model: { type: 'BPE', vocab: {}, merges: [] } }],
    ['post_processor', { post_processor: { type: 'New' }, model: { type: 'BPE', vocab: {}, merges: [] } }],
    [
      'regular expression',
      {
        pre_tokenizer: { type: 'Split', pattern: { Regex: '(?<=a)\\K' }, behavior: 'Isolated' },
        model: { type: 'BPE', vocab: {}, merges: [] },
      },
    ],
  ])('an unsupported %s', (_name, json) => {
    expect(() => Tokenizer.fromJson(json)).toThrow(UnsupportedTokenizerError);
  });
});

describe('tokenizer_config.json', () => {
  const json = small('llama2');

  it('adds BOS and EOS, never twice', () => {
    const tokens = { bos_token: '<s>', eos_token: { content: '</s>' } };
    const plain = Tokenizer.fromJson({ ...json, post_processor: null }, tokens);
    expect([...plain.encode('a')]).not.toContain(1);
    const both = Tokenizer.fromJson(json, { ...tokens, add_bos_token: true, add_eos_token: true });
    const ids = [...both.encode('a')];
    expect(ids.filter((id) => id === both.specialTokens.bos!.id)).toHaveLength(1);
    expect(ids.at(-1)).toBe(both.specialTokens.eos!.id);
    expect(both.addsBos).toBe(true);
  });

  it('adds tokens that only it names', () => {
    const extended = Tokenizer.fromJson(json, {
      added_tokens_decoder: { '900': { content: '<|new|>', special: true } },
    });
    expect(extended.vocabSize).toBe(901);
    expect([...extended.encode('<|new|>', { ...NO_BOS, parseSpecial: true })]).toEqual([900]);
  });
});
