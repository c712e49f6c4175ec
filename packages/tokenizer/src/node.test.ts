import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { fixtureText } from '../test/fixtures.js';
import { TokenizerError } from './errors.js';
import { loadTokenizer } from './node.js';

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tokenizer-'));
});

afterEach(async () => {
  await rm(directory, { recursive: true });
});

it('loads a model directory', async () => {
  await writeFile(join(directory, 'tokenizer.json'), fixtureText('dsi-mini.tokenizer.json.gz'));
  await writeFile(join(directory, 'tokenizer_config.json'), fixtureText('dsi-mini.tokenizer_config.json'));
  const { tokenizer, chatTemplate } = await loadTokenizer(directory);
  expect(tokenizer.decode(tokenizer.encode('hi'), { skipSpecialTokens: true })).toBe('hi');
  expect(chatTemplate?.render([{ role: 'user', content: 'x' }])).toBe(
    '<｜begin▁of▁sentence｜><｜User｜>x<｜Assistant｜>',
  );
});

it('prefers templates in files of their own', async () => {
  await writeFile(join(directory, 'tokenizer.json'), fixtureText('dsi-mini.tokenizer.json.gz'));
  await writeFile(join(directory, 'chat_template.jinja'), 'file {{ messages | length }}');
  await mkdir(join(directory, 'additional_chat_templates'));
  await writeFile(join(directory, 'additional_chat_templates', 'tool_use.jinja'), 'tools');
  const { chatTemplate } = await loadTokenizer(directory);
  expect(chatTemplate?.render([])).toBe('file 0');
  expect(chatTemplate?.render([], { tools: [] })).toBe('tools');
});

it('works without a template and says what is missing', async () => {
  await expect(loadTokenizer(directory)).rejects.toThrow(TokenizerError);
  await writeFile(join(directory, 'tokenizer.json'), fixtureText('qwen3-trimmed.json.gz'));
  expect((await loadTokenizer(directory)).chatTemplate).toBeUndefined();
});
