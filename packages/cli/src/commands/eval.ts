import { readFile } from 'node:fs/promises';
import { evalLogits, evalPerplexity, loadForEval, type LLM } from '@dsi/engine';
import type { Command } from 'commander';
import { addEngineOptions, toEngineOptions, type EngineFlags } from '../options/engine-options.js';
import { loadProgress } from '../options/load-llm.js';
import { integer } from '../options/parse.js';
import { progressBar } from '../terminal/progress.js';
import { utf8Text } from '../terminal/stdin.js';
import { UsageError } from '../terminal/usage-error.js';

interface LogitsFlags extends EngineFlags {
  readonly tokensFile: string;
  readonly json?: boolean;
}

interface PerplexityFlags extends EngineFlags {
  readonly text: string;
  readonly windowTokens?: number;
  readonly maxWindows?: number;
  readonly json?: boolean;
}

async function load(flags: EngineFlags): Promise<LLM> {
  const progress = loadProgress();
  try {
    return await loadForEval({ ...toEngineOptions(flags), onProgress: progress.onProgress });
  } finally {
    progress.stop();
  }
}

interface TokensFile {
  readonly prompts: number[][];
  readonly greedy: number;
}

/** @throws UsageError naming what is wrong with the file */
async function readTokensFile(file: string): Promise<TokensFile> {
  const bad = (what: string) => new UsageError(`${file}: ${what}; expected {"prompts": [[ids], ...], "greedy": n}.`);
  let value: unknown;
  try {
    value = JSON.parse(await readFile(file, 'utf8'));
  } catch (error) {
    throw bad((error as Error).message);
  }
  const { prompts, greedy = 0 } = (value ?? {}) as { prompts?: unknown; greedy?: unknown };
  if (!Array.isArray(prompts)) throw bad('"prompts" is not an array');
  prompts.forEach((prompt: unknown, i) => {
    const ok = Array.isArray(prompt) && prompt.length > 0 && prompt.every((id) => Number.isInteger(id) && id >= 0);
    if (!ok) throw bad(`prompts[${i}] is not an array of token ids`);
  });
  if (!Number.isInteger(greedy) || (greedy as number) < 0) throw bad('"greedy" is not a whole number');
  return { prompts: prompts as number[][], greedy: greedy as number };
}

/** `dsi eval logits | perplexity` */
export function evalCommand(program: Command): void {
  const group = program
    .command('eval')
    .description('logits and perplexity of a model, in exact numerics unless told otherwise');

  addEngineOptions(
    group.command('logits').description('last-position logits and greedy continuation of token prompts'),
    'exact',
  )
    .requiredOption('--tokens-file <file>', '{"prompts": [[ids], ...], "greedy": n}')
    .option('--json', '{"results": [{"last_logits": [...], "greedy": [...]}, ...]}')
    .action(async (flags: LogitsFlags) => {
      const { prompts, greedy } = await readTokensFile(flags.tokensFile);
      const llm = await load(flags);
      try {
        const results = await evalLogits(llm, prompts, { maxTokens: Math.max(1, greedy), ignoreEos: true });
        const shown = results.map((r) => ({ last_logits: Array.from(r.logits), greedy: r.tokenIds.slice(0, greedy) }));
        if (flags.json) {
          console.log(JSON.stringify({ results: shown }));
          return;
        }
        shown.forEach((result, i) => {
          const best = result.last_logits
            .map((logit, id) => ({ id, logit }))
            .sort((a, b) => b.logit - a.logit || a.id - b.id);
          console.log(`prompt ${i} (${prompts[i]!.length} tokens)`);
          console.log(
            `  best   ${best
              .slice(0, 5)
              .map(({ id, logit }) => `${id}: ${logit.toFixed(4)}`)
              .join('  ')}`,
          );
          console.log(`  greedy ${result.greedy.join(' ')}`);
        });
      } finally {
        await llm.close();
      }
    });

  addEngineOptions(group.command('perplexity').description('perplexity of a text'), 'exact')
    .requiredOption('--text <file>', 'UTF-8 text')
    .option('--window-tokens <n>', 'tokens of a window, BOS not counted (default: 1023)', integer(2, 2 ** 31 - 1))
    .option('--max-windows <n>', 'windows at most', integer(1, 2 ** 31 - 1))
    .option('--json', 'one JSON object')
    .action(async (flags: PerplexityFlags) => {
      const bytes = await readFile(flags.text).catch((error: Error) => {
        throw new UsageError(`--text: ${error.message}`);
      });
      const text = utf8Text(bytes, flags.text);
      const llm = await load(flags);
      const bar = progressBar('count');
      try {
        const result = await evalPerplexity(llm, text, {
          ...(flags.windowTokens === undefined ? {} : { windowTokens: flags.windowTokens }),
          ...(flags.maxWindows === undefined ? {} : { maxWindows: flags.maxWindows }),
          onProgress: (p) => bar.update(`perplexity ${p.perplexity.toFixed(4)}`, p.windows, p.totalWindows),
        });
        bar.stop();
        if (flags.json) console.log(JSON.stringify(result));
        else {
          const { perplexity, scoredTokens, windows, tokensPerSecond } = result;
          console.log(
            `perplexity ${perplexity.toFixed(4)} over ${scoredTokens} tokens in ${windows} windows (${tokensPerSecond.toFixed(0)} tokens/s)`,
          );
        }
      } finally {
        bar.stop();
        await llm.close();
      }
    });
}
