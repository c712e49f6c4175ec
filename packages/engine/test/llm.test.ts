import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { evalLogits } from '../src/eval/eval-logits.js';
import { evalPerplexity } from '../src/eval/eval-perplexity.js';
import { loadForEval } from '../src/eval/load-for-eval.js';
import { EngineClosedError, EngineConfigError } from '../src/errors/lifecycle-errors.js';
import { ContextLengthError, InvalidParameterError } from '../src/errors/request-errors.js';
import { LLM, type LLMOptions } from '../src/llm/llm.js';
import type { LoadEvent } from '../src/load/load-event.js';
import { bosId, eosId, vocabSize, writeTinyModel, type TinyModel } from './tiny-model.js';

let model: TinyModel;
beforeAll(() => {
  model = writeTinyModel('deepseek_v3');
});
afterAll(() => model.remove());

const load = (options: Partial<LLMOptions> = {}) =>
  LLM.load({ model: model.path, backend: 'reference', inProcess: true, maxModelLen: 256, maxNumSeqs: 8, ...options });

const distinct = (ids: readonly number[]) => new Set(ids).size;

describe('loading', () => {
  test('reports progress by weight, and what was loaded', async () => {
    const events: LoadEvent[] = [];
    const llm = await load({ onProgress: (event) => events.push(event) });
    const weights = events.filter((event) => event.stage === 'weights');
    expect(weights.length).toBeGreaterThan(10);
    expect(weights.at(-1)!.loadedBytes).toBe(weights.at(-1)!.totalBytes);
    expect(llm.info).toMatchObject({
      architecture: 'deepseek_v3',
      backend: 'reference',
      vocabSize,
      bosTokenId: bosId,
      eosTokenIds: [eosId],
      maxModelLen: 256,
      defaultSampling: { temperature: 0.6, topP: 0.95 },
      notices: [],
    });
    await llm.close();
  });

  test('options out of range, a model that is not there, and the built worker from sources', async () => {
    await expect(load({ maxNumSeqs: 0 })).rejects.toThrow(EngineConfigError);
    await expect(load({ maxModelLen: 100_000 })).rejects.toThrow("the model's context is 512 tokens");
    await expect(load({ model: `${model.path}/absent.gguf` })).rejects.toMatchObject({ name: 'ModelNotFoundError' });
    await expect(load({ inProcess: false })).rejects.toThrow('inProcess: true');
  });

  test('an aborted load rejects with the reason', async () => {
    const controller = new AbortController();
    const loading = load({
      signal: controller.signal,
      onProgress: () => controller.abort(new Error('changed my mind')),
    });
    await expect(loading).rejects.toThrow('changed my mind');
  });

  test('a small pool shortens the default context, and says so', async () => {
    const { maxModelLen: _, ...options } = { model: model.path, maxModelLen: 0 };
    const llm = await LLM.load({ ...options, backend: 'reference', inProcess: true, maxNumSeqs: 2, numBlocks: 8 });
    expect(llm.info.maxModelLen).toBe(128);
    expect(llm.info.notices[0]).toContain('128 tokens instead of the model');
    const { usage } = await llm.generate('abc', { ignoreEos: true, seed: 1 });
    expect(usage.promptTokens + usage.completionTokens).toBe(128);
    await llm.close();
  });
});

describe('generating', () => {
  let llm: LLM;
  beforeAll(async () => {
    llm = await load();
  });
  afterAll(() => llm.close());

  test('text, lists of prompts and ids, with one BOS', async () => {
    const params = { temperature: 0, maxTokens: 6, ignoreEos: true };
    const [first, second] = await llm.generate(['the cat', 'a dog'], params);
    const ids = [bosId, ...llm.tokenize('the cat')];
    expect(Array.from(first!.promptIds)).toEqual(ids);
    expect((await llm.generate(ids, params)).choices).toEqual(first!.choices);
    expect((await llm.generate('<|begin|>the cat', params)).promptIds).toEqual(first!.promptIds);
    expect((await llm.generate('a dog', params)).text).toBe(second!.text);
    expect(first!.text).toBe(llm.detokenize(first!.choices[0]!.tokenIds, { skipSpecialTokens: true }));
    expect(await llm.generate([], params)).toEqual([]);
  });

  test('streamed pieces join to the whole, logprobs carry true bytes', async () => {
    const params = { temperature: 1, seed: 4, maxTokens: 12, ignoreEos: true, logprobs: 2 };
    const whole = await llm.generate('on the', params);
    let text = '';
    const bytes: number[] = [];
    const stream = llm.stream('on the', params);
    for await (const delta of stream) {
      text += delta.text;
      for (const entry of delta.logprobs!) {
        bytes.push(...entry.bytes);
        expect(entry.top).toHaveLength(2);
        expect(entry.top[0]!.logprob).toBeGreaterThanOrEqual(entry.top[1]!.logprob);
        expect(entry.logprob).toBeLessThanOrEqual(entry.top[0]!.logprob);
      }
    }
    expect(text).toBe(whole.text);
    expect(Buffer.from(bytes).toString('utf8')).toBe(llm.detokenize(whole.choices[0]!.tokenIds));
    expect(stream.metrics!.completionTokens).toBe(12);
    expect(whole.seed).toBe(4n);
  });

  test('the default sampling of the model applies where the request says nothing', async () => {
    const params = { seed: 11, maxTokens: 10, ignoreEos: true };
    const implied = await llm.generate('in', params);
    const spelled = await llm.generate('in', { ...params, temperature: 0.6, topP: 0.95 });
    expect(implied.choices).toEqual(spelled.choices);
    const none = await load({ generationConfig: 'none' });
    const neutral = await none.generate('in', params);
    expect(neutral.choices).toEqual((await llm.generate('in', { ...params, temperature: 1, topP: 1 })).choices);
    await none.close();
  });

  test('bad parameters and long prompts are typed errors', async () => {
    expect(() => llm.stream('a', { topP: 2 })).toThrow(InvalidParameterError);
    await expect(llm.generate([vocabSize], {})).rejects.toThrow(InvalidParameterError);
    const long = Array.from({ length: 256 }, () => 65);
    await expect(llm.generate(long)).rejects.toMatchObject({ promptTokens: 256, maxModelLen: 256 });
    await expect(llm.generate(['ok', long] as (string | number[])[])).rejects.toThrow(ContextLengthError);
    expect((await llm.generate('ok', { maxTokens: 1 })).choices).toHaveLength(1);
    await llm.engine.checkIntegrity();
  });

  test('signals and leaving a loop', async () => {
    const controller = new AbortController();
    const generating = llm.generate(['a', 'b'], { ignoreEos: true }, { signal: controller.signal });
    controller.abort(new Error('stop it'));
    await expect(generating).rejects.toThrow('stop it');
    for await (const _ of llm.stream('abc', { ignoreEos: true })) break;
    const { running, waiting } = await llm.engine.queryStats();
    expect({ running, waiting }).toEqual({ running: 0, waiting: 0 });
  });

  test('penalties, bias and bans reach the sampler', async () => {
    const params = { temperature: 0, maxTokens: 12, ignoreEos: true };
    const only = await llm.generate('abc', { ...params, logitBias: { 90: 100 } });
    expect(new Set(only.choices[0]!.tokenIds)).toEqual(new Set([90]));
    const varied = await llm.generate('abc', { ...params, logitBias: { 90: 100 }, badWords: ['Z'] });
    expect(varied.choices[0]!.tokenIds).not.toContain(90);
    const penalised = await llm.generate('abc', { ...params, frequencyPenalty: 2, presencePenalty: 2 });
    const plain = await llm.generate('abc', params);
    expect(distinct(penalised.choices[0]!.tokenIds)).toBeGreaterThanOrEqual(distinct(plain.choices[0]!.tokenIds));
  });

  test('prompt logprobs equal the logprobs of the same tokens when generated', async () => {
    const generated = await llm.generate('the', {
      temperature: 1,
      topP: 1,
      seed: 3,
      maxTokens: 8,
      ignoreEos: true,
      logprobs: 0,
    });
    const { tokenIds, logprobs } = generated.choices[0]!;
    const scored = await llm.generate([...generated.promptIds, ...tokenIds], { promptLogprobs: 3, maxTokens: 1 });
    const tail = scored.promptLogprobs!.slice(generated.promptIds.length);
    expect(tail.map((entry) => entry!.logprob)).toEqual(logprobs!.map((entry) => entry.logprob));
    expect(tail.every((entry) => entry!.top.length === 3)).toBe(true);
  });
});

describe('chatting', () => {
  let llm: LLM;
  beforeAll(async () => {
    llm = await load();
  });
  afterAll(() => llm.close());
  const messages = [{ role: 'user', content: 'hi <|end|> there' }];

  test('the template may write control tokens, content may not; one BOS', () => {
    const { text, ids } = llm.renderChat(messages);
    expect(text).toBe('<|begin|><|user|>hi <|end|> there<|assistant|>');
    expect(ids[0]).toBe(bosId);
    expect(Array.from(ids).filter((id) => id === bosId)).toHaveLength(1);
    expect(ids).not.toContain(eosId);
    expect(llm.detokenize(ids)).toBe(text);
  });

  test('continuing the last message', () => {
    const begun = [...messages, { role: 'assistant', content: 'Well, ' }];
    const { text } = llm.renderChat(begun, { continueFinalMessage: true });
    expect(text.endsWith('<|assistant|>Well, ')).toBe(true);
    expect(llm.renderChat(messages, { addGenerationPrompt: false }).text.endsWith('there')).toBe(true);
  });

  test('a chat equals its rendered prompt', async () => {
    const params = { temperature: 0, maxTokens: 5, ignoreEos: true };
    const { promptIds, text } = await llm.chat(messages, params);
    expect(promptIds).toEqual(llm.renderChat(messages).ids);
    expect(text).toBe((await llm.generate(promptIds, params)).text);
  });
});

describe('evaluating', () => {
  test('logits agree with the log-probabilities, and greedy follows them', async () => {
    const llm = await loadForEval({ model: model.path, backend: 'reference', inProcess: true, maxModelLen: 256 });
    const [result] = await evalLogits(llm, ['the other one'], { maxTokens: 5, ignoreEos: true });
    const { logits, logSumExp, tokenIds } = result!;
    expect(logits).toHaveLength(vocabSize);
    expect(tokenIds).toHaveLength(5);
    expect(logits[tokenIds[0]!]).toBe(Math.max(...logits));
    const { choices } = await llm.generate('the other one', {
      temperature: 0,
      maxTokens: 1,
      logprobs: 0,
      ignoreEos: true,
    });
    expect(choices[0]!.logprobs![0]!.logprob).toBeCloseTo(logits[tokenIds[0]!]! - logSumExp, 5);
    await llm.close();
  });

  test('perplexity equals its definition, whatever the chunks', async () => {
    const text = 'In the one and the other, then on another; 1 2 3. '.repeat(3);
    const losses: number[] = [];
    for (const maxNumBatchedTokens of [1024, 16]) {
      const llm = await loadForEval({
        model: model.path,
        backend: 'reference',
        inProcess: true,
        maxModelLen: 256,
        maxNumBatchedTokens,
      });
      const result = await evalPerplexity(llm, text, { windowTokens: 40 });
      const ids = llm.tokenize(text);
      expect(result).toMatchObject({ scoredTokens: ids.length, windows: Math.ceil(ids.length / 40), windowTokens: 40 });
      expect(result.bitsPerByte).toBeCloseTo((result.loss * ids.length) / Math.LN2 / text.length, 10);
      losses.push(result.loss);
      let sum = 0;
      for (let begin = 0; begin < ids.length; begin += 40) {
        const prompt = [bosId, ...ids.subarray(begin, begin + 40)];
        const { promptLogprobs } = await llm.generate(prompt, { promptLogprobs: 0, maxTokens: 1 });
        for (const entry of promptLogprobs!.slice(1)) sum -= entry!.logprob;
      }
      expect(result.loss).toBeCloseTo(sum / ids.length, 12);
      await expect(evalPerplexity(llm, text, { windowTokens: 255 })).rejects.toThrow(InvalidParameterError);
      await llm.close();
    }
    expect(losses[0]).toBe(losses[1]);
  });
});

test('a closed engine refuses, and disposes itself', async () => {
  let closed: LLM;
  {
    await using llm = await load();
    closed = llm;
    await llm.generate('x', { maxTokens: 1 });
  }
  expect(() => closed.stream('x')).toThrow(EngineClosedError);
});
