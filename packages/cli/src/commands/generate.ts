import type { Command } from 'commander';
import { addEngineOptions, type EngineFlags } from '../options/engine-options.js';
import { loadLlm } from '../options/load-llm.js';
import { addSamplingOptions, toSamplingParams, type SamplingFlags } from '../options/sampling-options.js';
import { readStdin } from '../terminal/stdin.js';
import { UsageError } from '../terminal/usage-error.js';

interface GenerateFlags extends EngineFlags, SamplingFlags {
  readonly json?: boolean;
}

/** `dsi generate [prompt]`: continues a text; the prompt from standard input where it is not given. */
export function generateCommand(program: Command): void {
  const command = program
    .command('generate')
    .description('continue a text')
    .argument('[prompt]', 'the text (default: standard input)');
  addSamplingOptions(addEngineOptions(command, 'fast'))
    .option('--json', 'one JSON object with text, ids, usage and timings')
    .action(async (argument: string | undefined, flags: GenerateFlags) => {
      const prompt = argument ?? (await readStdin());
      if (prompt === '') throw new UsageError('The prompt is empty: give a text as argument or on standard input.');
      const llm = await loadLlm(flags);
      try {
        const interrupt = new AbortController();
        process.once('SIGINT', () => interrupt.abort(new UsageError('interrupted')));
        const params = { maxTokens: 256, ...toSamplingParams(flags) };
        if (flags.json) {
          const generation = await llm.generate(prompt, params, { signal: interrupt.signal });
          const { text, finishReason, tokenIds } = generation.choices[0]!;
          const { seed, usage, metrics } = generation;
          const timings = { timeToFirstTokenMs: metrics?.timeToFirstTokenMs, endToEndMs: metrics?.endToEndMs };
          console.log(JSON.stringify({ text, finishReason, tokenIds, seed: seed.toString(), usage, timings }));
          return;
        }
        for await (const delta of llm.stream(prompt, params, { signal: interrupt.signal }))
          process.stdout.write(delta.text);
        process.stdout.write('\n');
      } finally {
        await llm.close();
      }
    });
}
