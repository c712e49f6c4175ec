import { readFileSync } from 'node:fs';
import { LLM } from '@dsi/engine';
import type { Command } from 'commander';
import { addEngineOptions, modelName, toEngineOptions, type EngineFlags } from '../options/engine-options.js';
import { loadProgress } from '../options/load-llm.js';
import { integer } from '../options/parse.js';
import { progressBar } from '../terminal/progress.js';
import { percentile, randomPrompt } from './bench-prompts.js';

interface BenchFlags extends EngineFlags {
  readonly inputLen: number;
  readonly outputLen: number;
  readonly json?: boolean;
}

interface LatencyFlags extends BenchFlags {
  readonly iterations: number;
}

interface ThroughputFlags extends BenchFlags {
  readonly numPrompts: number;
}

async function load(flags: EngineFlags, seqs?: number): Promise<LLM> {
  const progress = loadProgress();
  try {
    return await LLM.load({
      ...toEngineOptions(flags),
      prefixCaching: false,
      ...(seqs !== undefined && flags.maxNumSeqs === undefined ? { maxNumSeqs: seqs } : {}),
      onProgress: progress.onProgress,
    });
  } finally {
    progress.stop();
  }
}

function machine(): string {
  try {
    return /model name\s*: (.*)/.exec(readFileSync('/proc/cpuinfo', 'utf8'))?.[1] ?? process.arch;
  } catch {
    return process.arch;
  }
}

function show(json: boolean | undefined, result: Readonly<Record<string, unknown>>): void {
  if (json) {
    console.log(JSON.stringify(result));
    return;
  }
  for (const [key, value] of Object.entries(result)) {
    console.log(`${key.padEnd(28)} ${typeof value === 'number' ? Number(value.toFixed(3)) : String(value)}`);
  }
}

/** `dsi bench latency | throughput`: random prompts of fixed length, greedy, the prefix cache off. */
export function benchCommand(program: Command): void {
  const group = program.command('bench').description('measure a model on this machine');

  addEngineOptions(
    group.command('latency').description('one request at a time: time to first token, tokens a second'),
    'fast',
  )
    .option('--input-len <n>', 'prompt tokens', integer(1, 2 ** 20), 128)
    .option('--output-len <n>', 'new tokens', integer(2, 2 ** 20), 64)
    .option('--iterations <n>', 'measured requests, after one that warms up', integer(1, 10_000), 5)
    .option('--json', 'one JSON object')
    .action(async (flags: LatencyFlags) => {
      const llm = await load(flags);
      const bar = progressBar('count');
      try {
        const first: number[] = [];
        const decode: number[] = [];
        const total: number[] = [];
        for (let i = -1; i < flags.iterations; i++) {
          const prompt = randomPrompt(flags.inputLen, llm.info.vocabSize, i + 1);
          const begin = performance.now();
          let firstAt = 0;
          for await (const _ of llm.stream(prompt, { temperature: 0, maxTokens: flags.outputLen, ignoreEos: true }))
            firstAt ||= performance.now();
          const end = performance.now();
          if (i < 0) continue;
          first.push(firstAt - begin);
          decode.push((flags.outputLen - 1) / ((end - firstAt) / 1e3));
          total.push(end - begin);
          bar.update('latency', i + 1, flags.iterations);
        }
        bar.stop();
        show(flags.json, {
          model: modelName(flags.model),
          backend: llm.info.backendDescription,
          machine: machine(),
          numerics: llm.info.numerics,
          inputTokens: flags.inputLen,
          outputTokens: flags.outputLen,
          iterations: flags.iterations,
          timeToFirstTokenMsP50: percentile(first, 50),
          timeToFirstTokenMsP99: percentile(first, 99),
          prefillTokensPerSecondP50: (flags.inputLen / percentile(first, 50)) * 1e3,
          decodeTokensPerSecondP50: percentile(decode, 50),
          decodeTokensPerSecondMin: Math.min(...decode),
          endToEndMsP50: percentile(total, 50),
        });
      } finally {
        bar.stop();
        await llm.close();
      }
    });

  addEngineOptions(group.command('throughput').description('all requests at once: tokens a second in all'), 'fast')
    .option('--input-len <n>', 'prompt tokens', integer(1, 2 ** 20), 128)
    .option('--output-len <n>', 'new tokens', integer(1, 2 ** 20), 64)
    .option('--num-prompts <n>', 'requests', integer(1, 100_000), 16)
    .option('--json', 'one JSON object')
    .action(async (flags: ThroughputFlags) => {
      const llm = await load(flags, Math.min(256, flags.numPrompts));
      const bar = progressBar('count');
      try {
        const params = { temperature: 0, maxTokens: flags.outputLen, ignoreEos: true };
        await llm.generate(randomPrompt(flags.inputLen, llm.info.vocabSize, 0), { ...params, maxTokens: 1 });
        let done = 0;
        const begin = performance.now();
        await Promise.all(
          Array.from({ length: flags.numPrompts }, async (_, i) => {
            await llm.generate(randomPrompt(flags.inputLen, llm.info.vocabSize, i + 1), params);
            bar.update('throughput', ++done, flags.numPrompts);
          }),
        );
        const seconds = (performance.now() - begin) / 1e3;
        bar.stop();
        show(flags.json, {
          model: modelName(flags.model),
          backend: llm.info.backendDescription,
          machine: machine(),
          numerics: llm.info.numerics,
          prompts: flags.numPrompts,
          inputTokens: flags.inputLen,
          outputTokens: flags.outputLen,
          seconds,
          requestsPerSecond: flags.numPrompts / seconds,
          outputTokensPerSecond: (flags.numPrompts * flags.outputLen) / seconds,
          totalTokensPerSecond: (flags.numPrompts * (flags.inputLen + flags.outputLen)) / seconds,
        });
      } finally {
        bar.stop();
        await llm.close();
      }
    });
}
