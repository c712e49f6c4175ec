import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { LLM } from '../packages/engine/dist/index.js';
import { backend } from './dsi-command.js';

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const options = { model: file('../packages/mini-model/models/dsi-mini-dense.gguf'), backend, maxModelLen: 256 };
const params = { temperature: 0, maxTokens: 12, ignoreEos: true };
const prompt = 'export function debounce(';

interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a script to its own end; it finds the built engine as `LLM`, and the model as `options`. */
function run(body: string, module: 'esm' | 'cjs' = 'esm'): Promise<Exit> {
  const path = (name: string) => JSON.stringify(file(`../packages/engine/dist/${name}`));
  const head =
    module === 'esm'
      ? `const { LLM } = await import(${path('index.js')});`
      : `const { LLM, ...engine } = require(${path('index.cjs')});`;
  const script = `${head}\nconst options = ${JSON.stringify(options)};\n${body}`;
  const type = module === 'esm' ? 'module' : 'commonjs';
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [`--input-type=${type}`, '-e', script], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (data: Buffer) => (stdout += data.toString()));
    child.stderr.on('data', (data: Buffer) => (stderr += data.toString()));
    child.on('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
}

const ended = { code: 0, signal: null, stderr: '' };

describe('the built worker', () => {
  test('generates, for several requests at once, the same as for one', async () => {
    const llm = await LLM.load(options);
    const alone = await llm.generate(prompt, params);
    expect(alone.choices[0]!.tokenIds).toHaveLength(12);
    const together = await llm.generate([prompt, 'const a = 1;', prompt], params);
    expect(together[0]!.choices[0]!.tokenIds).toEqual(alone.choices[0]!.tokenIds);
    expect(together[2]!.text).toBe(alone.text);
    await llm.engine.checkIntegrity();
    await llm.close();
  });

  test('a load aborted half-way rejects with the reason, and the next one works', async () => {
    const controller = new AbortController();
    const reason = new Error('changed my mind');
    let events = 0;
    const onProgress = () => {
      if (++events === 3) controller.abort(reason);
    };
    await expect(LLM.load({ ...options, signal: controller.signal, onProgress })).rejects.toBe(reason);
    const llm = await LLM.load(options);
    expect((await llm.generate(prompt, params)).choices[0]!.tokenIds).toHaveLength(12);
    await llm.close();
  });

  test('a failed load keeps the type of its error', async () => {
    const absent = LLM.load({ ...options, model: '/nowhere/absent.gguf' });
    await expect(absent).rejects.toMatchObject({ name: 'ModelNotFoundError' });
  });
});

describe('a process', () => {
  test('ends by itself after an aborted load', async () => {
    const result = await run(`
      const controller = new AbortController();
      const onProgress = () => controller.abort(new Error('enough'));
      await LLM.load({ ...options, signal: controller.signal, onProgress }).catch((e) => console.log(e.message));`);
    expect(result).toEqual({ ...ended, stdout: 'enough\n' });
  });

  test('ends by itself when an idle engine is not closed', async () => {
    const result = await run(`
      const llm = await LLM.load(options);
      const { usage } = await llm.generate([1, 2, 3], ${JSON.stringify(params)});
      console.log(usage.completionTokens);`);
    expect(result).toEqual({ ...ended, stdout: '12\n' });
  });

  test('finds the worker from CommonJS, where errors keep their names', async () => {
    const result = await run(
      `LLM.load(options).then(async (llm) => {
        const { usage } = await llm.generate([1, 2, 3], ${JSON.stringify(params)});
        console.log(usage.completionTokens);
        await llm.generate(new Array(300).fill(1)).catch((e) => console.log(e.name, e instanceof engine.ContextLengthError));
        await llm.close();
      });`,
      'cjs',
    );
    expect(result).toEqual({ ...ended, stdout: '12\nContextLengthError true\n' });
  });

  test('may exit while requests run', async () => {
    const result = await run(`
      const llm = await LLM.load(options);
      for (let i = 0; i < 4; i++) llm.generate([1, 2, i], { ...${JSON.stringify(params)}, maxTokens: 200 }).catch(() => {});
      for await (const delta of llm.stream([5, 6], { maxTokens: 200, ignoreEos: true })) {
        if (delta.completionTokens === 3) process.exit(7);
      }`);
    expect(result).toEqual({ ...ended, code: 7, stdout: '' });
  });
});
