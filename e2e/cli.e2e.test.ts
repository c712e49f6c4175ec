import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { backend, dsi } from './dsi-command.js';

const work = mkdtempSync(path.join(os.tmpdir(), 'dsi-e2e-'));
afterAll(() => rmSync(work, { recursive: true, force: true }));
const native = ['--backend', backend];

test('tokenize reads standard input byte for byte', async () => {
  const text = 'const greeting = "héllo 世界 👋";\n';
  const { stdout, code } = await dsi(['tokenize', '--no-special', '--json'], text);
  expect(code).toBe(0);
  const { ids } = JSON.parse(stdout) as { ids: number[] };
  expect(ids.length).toBeGreaterThan(5);
  const withBos = JSON.parse((await dsi(['tokenize', '--json'], text)).stdout) as { ids: number[] };
  expect(withBos.ids).toEqual([0, ...ids]);
});

test('generate: greedy is repeatable; --json has ids and usage', async () => {
  const args = ['generate', 'import { readFile } from', '-n', '12', '-t', '0', ...native];
  const plain = await dsi(args);
  expect(plain.code).toBe(0);
  const json = JSON.parse((await dsi([...args, '--json'])).stdout) as {
    text: string;
    tokenIds: number[];
    usage: { completionTokens: number };
  };
  expect(`${json.text}\n`).toBe(plain.stdout);
  expect(json.usage.completionTokens).toBe(json.tokenIds.length);
});

test('chat answers line by line', async () => {
  const { stdout, code } = await dsi(['chat', '-t', '0', ...native], 'Who are you?\n');
  expect(code).toBe(0);
  expect(stdout).toContain('dsi-mini');
});

test('eval logits: the greedy continuation begins with the argmax of the logits', async () => {
  const file = path.join(work, 'tokens.json');
  writeFileSync(
    file,
    JSON.stringify({
      prompts: [
        [0, 980, 324],
        [0, 5, 6, 7, 8],
      ],
      greedy: 6,
    }),
  );
  const { stdout, code } = await dsi(['eval', 'logits', '--tokens-file', file, '--json', ...native]);
  expect(code).toBe(0);
  const { results } = JSON.parse(stdout) as { results: { last_logits: number[]; greedy: number[] }[] };
  expect(results).toHaveLength(2);
  for (const { last_logits: logits, greedy } of results) {
    expect(logits).toHaveLength(16_384);
    expect(greedy).toHaveLength(6);
    expect(logits.indexOf(Math.max(...logits))).toBe(greedy[0]);
  }
});

test('eval perplexity', async () => {
  const file = path.join(work, 'text.txt');
  writeFileSync(file, readFileSync(new URL('../README.md', import.meta.url)));
  const { stdout, code } = await dsi([
    'eval',
    'perplexity',
    '--text',
    file,
    '--window-tokens',
    '255',
    '--json',
    ...native,
  ]);
  expect(code).toBe(0);
  const result = JSON.parse(stdout) as { perplexity: number; scoredTokens: number };
  expect(result.perplexity).toBeGreaterThan(1);
  expect(result.perplexity).toBeLessThan(100);
  expect(result.scoredTokens).toBeGreaterThan(500);
});

test('inspect and convert: GGUF to safetensors and back give the same greedy tokens', async () => {
  const hf = path.join(work, 'hf');
  const back = path.join(work, 'back.gguf');
  expect((await dsi(['convert', 'dsi-mini-dense', '-o', hf, '-t', 'F32'])).code).toBe(0);
  expect((await dsi(['convert', hf, '-o', back, '-t', 'F32'])).code).toBe(0);
  const info = JSON.parse((await dsi(['inspect', back, '--json'])).stdout) as {
    kind: string;
    metadata: Record<string, unknown>;
  };
  expect(info.kind).toBe('gguf');
  expect(info.metadata['general.architecture']).toBe('qwen2');
  const run = async (model: string) =>
    (
      JSON.parse(
        (
          await dsi([
            'generate',
            'export const',
            '-n',
            '16',
            '-t',
            '0',
            '--json',
            '--numerics',
            'exact',
            '-m',
            model,
            ...native,
          ])
        ).stdout,
      ) as { tokenIds: number[] }
    ).tokenIds;
  expect(await run(back)).toEqual(await run('dsi-mini-dense'));
});

test('bench prints JSON', async () => {
  const latency = await dsi([
    'bench',
    'latency',
    '--input-len',
    '16',
    '--output-len',
    '8',
    '--iterations',
    '1',
    '--json',
    ...native,
  ]);
  expect((JSON.parse(latency.stdout) as { decodeTokensPerSecondP50: number }).decodeTokensPerSecondP50).toBeGreaterThan(
    0,
  );
  const throughput = await dsi([
    'bench',
    'throughput',
    '--input-len',
    '16',
    '--output-len',
    '4',
    '--num-prompts',
    '4',
    '--json',
    ...native,
  ]);
  expect((JSON.parse(throughput.stdout) as { outputTokensPerSecond: number }).outputTokensPerSecond).toBeGreaterThan(0);
});

test.each([
  ['an unknown flag', ['serve', '--frobnicate'], 2, /frobnicate/],
  ['a flag that never existed', ['serve', '--enable-moe'], 2, /--enable-moe/],
  ['a value out of range', ['generate', 'x', '-t', '-1'], 2, /temperature/],
  ['a model that is not there', ['generate', 'x', '-m', './no/such/model.gguf'], 1, /no\/such\/model\.gguf/],
  ['a file that is no model', ['inspect', new URL('../README.md', import.meta.url).pathname], 1, /README\.md/],
  ['an unknown type', ['convert', 'dsi-mini-dense', '-o', path.join(work, 'x'), '-t', 'Q99'], 2, /Q99/],
])('%s: one line that says what to do', async (_, args, code, message) => {
  const result = await dsi(args);
  expect(result.code).toBe(code);
  expect(result.stderr).toMatch(message);
  expect(result.stderr).not.toContain('    at ');
});
