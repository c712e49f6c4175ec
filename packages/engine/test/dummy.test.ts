import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { EngineConfigError } from '../src/errors/lifecycle-errors.js';
import { TokenizerMissingError } from '../src/errors/request-errors.js';
import { LLM, type LLMOptions } from '../src/llm/llm.js';
import { writeTinyModel } from './tiny-model.js';

/** A directory with nothing but a config.json. */
const directory = mkdtempSync(path.join(os.tmpdir(), 'dsi-dummy-'));
beforeAll(() => {
  const model = writeTinyModel('qwen2');
  copyFileSync(path.join(model.path, 'config.json'), path.join(directory, 'config.json'));
  model.remove();
});
afterAll(() => rmSync(directory, { recursive: true }));

const load = (options: Partial<LLMOptions> = {}) =>
  LLM.load({
    model: directory,
    loadFormat: 'dummy',
    backend: 'reference',
    inProcess: true,
    maxModelLen: 64,
    maxNumSeqs: 2,
    ...options,
  });
const params = { temperature: 0, maxTokens: 6, ignoreEos: true };

test('random weights from a config.json alone generate ids', async () => {
  const llm = await load();
  const { choices, text } = await llm.generate([1, 2, 3], { ...params, logprobs: 1 });
  expect(choices[0]!.tokenIds).toHaveLength(6);
  expect(text).toBe('');
  expect(choices[0]!.logprobs![0]).toMatchObject({ id: choices[0]!.tokenIds[0], token: '' });
  expect(Number.isFinite(choices[0]!.logprobs![0]!.logprob)).toBe(true);
  await llm.close();

  const fromFile = await load({ model: path.join(directory, 'config.json') });
  expect((await fromFile.generate([1, 2, 3], params)).choices[0]!.tokenIds).toEqual(choices[0]!.tokenIds);
  await fromFile.close();
});

test('dummyFormat decides the bytes of the weights', async () => {
  const bytes: Record<string, number> = {};
  for (const dummyFormat of ['BF16', 'Q4_0'] as const) {
    const llm = await load({ dummyFormat, onProgress: ({ totalBytes }) => (bytes[dummyFormat] = totalBytes) });
    expect((await llm.generate([1, 2, 3], params)).choices[0]!.tokenIds).toHaveLength(6);
    await llm.close();
  }
  expect(bytes['Q4_0']!).toBeLessThan(bytes['BF16']! / 2);
});

test('text needs a tokenizer', async () => {
  const llm = await load();
  expect(llm.hasChatTemplate).toBe(false);
  for (const use of [
    () => llm.stream('text', params),
    () => llm.stream([1], { ...params, stop: 'x' }),
    () => llm.stream([1], { ...params, badWords: ['x'] }),
    () => llm.tokenize('text'),
    () => llm.detokenize([1]),
    () => llm.renderChat([{ role: 'user', content: 'text' }]),
    () => llm.tokenizer,
  ]) {
    expect(use).toThrow(TokenizerMissingError);
  }
  await llm.close();
});

test('a model without a usable config.json, and formats that are not there', async () => {
  await expect(load({ model: `${directory}/absent` })).rejects.toThrow('a directory with a config.json');
  writeFileSync(path.join(directory, 'broken.json'), '{');
  await expect(load({ model: path.join(directory, 'broken.json') })).rejects.toThrow('not valid JSON');
  writeFileSync(path.join(directory, 'list.json'), '[]');
  await expect(load({ model: path.join(directory, 'list.json') })).rejects.toThrow('must hold an object');
  await expect(load({ dummyFormat: 'Q9' as 'Q4_0' })).rejects.toThrow(EngineConfigError);
  await expect(load({ loadFormat: 'auto', dummyFormat: 'Q4_0' })).rejects.toThrow("needs loadFormat: 'dummy'");
});
