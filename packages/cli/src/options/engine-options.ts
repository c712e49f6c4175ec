import type { EngineOptions } from '@dsi/engine';
import { miniModels, dsiMiniMoe } from '@dsi/mini-model';
import { Option, type Command } from 'commander';
import { bytes, integer } from './parse.js';

/** Values of the options that every command with a model has. */
export interface EngineFlags {
  readonly model: string;
  readonly loadFormat?: 'auto' | 'dummy';
  readonly dummyFormat?: string;
  readonly backend: 'cpu' | 'reference' | 'auto';
  readonly numerics: 'exact' | 'fast';
  readonly kvCacheDtype?: 'f32' | 'f16' | 'bf16';
  readonly threads?: number;
  readonly maxModelLen?: number;
  readonly maxNumSeqs?: number;
  readonly maxNumBatchedTokens?: number;
  readonly longPrefillTokenThreshold?: number;
  readonly blockSize?: number;
  readonly kvCacheMemory?: number;
  readonly numBlocks?: number;
  readonly prefixCaching: boolean;
  readonly schedulingPolicy?: string;
  readonly maxQueueSize?: number;
}

/** Adds the options. `numerics` is the command's own default. */
export function addEngineOptions(command: Command, numerics: 'exact' | 'fast'): Command {
  return command
    .option(
      '-m, --model <model>',
      'a .gguf or .safetensors file, a Hugging Face directory, a hub id (owner/name, owner/name-GGUF:Q4_K_M), or an embedded model',
      dsiMiniMoe.name,
    )
    .addOption(
      new Option(
        '--load-format <format>',
        'dummy: random weights in the shape of a config.json (-m: its directory), without a tokenizer, for measurements',
      )
        .choices(['auto', 'dummy'])
        .default('auto'),
    )
    .option('--dummy-format <format>', 'format of random weights: BF16, Q8_0, Q4_K, ... (default: BF16)')
    .addOption(
      new Option('--backend <name>', 'cpu: native kernels; reference: plain TypeScript, slow; auto: cpu where it loads')
        .choices(['cpu', 'reference', 'auto'])
        .default('cpu'),
    )
    .addOption(
      new Option('--numerics <mode>', 'exact: everything f32; fast: int8 or bf16 products')
        .choices(['exact', 'fast'])
        .default(numerics),
    )
    .addOption(
      new Option('--kv-cache-dtype <type>', "element type of the KV cache (default: the model's)").choices([
        'f32',
        'f16',
        'bf16',
      ]),
    )
    .option('--threads <n>', 'threads of the kernels (default: the cores this process may use)', integer(1, 1024))
    .option(
      '--max-model-len <tokens>',
      "tokens of a sequence at most (default: the model's limit)",
      integer(2, 2 ** 31 - 1),
    )
    .option('--max-num-seqs <n>', 'sequences that run at once', integer(1, 4096))
    .option('--max-num-batched-tokens <n>', 'tokens of a step at most', integer(1, 2 ** 20))
    .option(
      '--long-prefill-token-threshold <n>',
      'prompt tokens of one request in one step at most; 0 = no limit',
      integer(0, 2 ** 31 - 1),
    )
    .option('--block-size <tokens>', 'tokens of a KV block', integer(1, 256))
    .option(
      '--kv-cache-memory <size>',
      'memory of the KV cache, such as 2GiB (default: a quarter of what this process may use)',
      bytes,
    )
    .option('--num-blocks <n>', 'size of the KV cache in blocks instead', integer(1, 2 ** 31 - 2))
    .option('--no-prefix-caching', 'do not reuse the KV of equal prefixes')
    .addOption(new Option('--scheduling-policy <name>', 'who goes first').choices(['fcfs', 'priority']))
    .option('--max-queue-size <n>', 'waiting requests at most; more get 429', integer(0, 2 ** 31 - 1));
}

/** What a model is called by default: an embedded model's name, or the last part of its path or hub id. */
export function modelName(model: string): string {
  if (miniModels.has(model)) return model;
  const last = model
    .replace(/[/\\]+$/, '')
    .split(/[/\\]/)
    .at(-1)!;
  return last.replace(/\.(gguf|safetensors)$/i, '');
}

/** The path behind an embedded model's name; anything else as it is. */
export function modelPath(model: string): string {
  return miniModels.get(model)?.path ?? model;
}

export function toEngineOptions(flags: EngineFlags): EngineOptions {
  const { model, ...rest } = flags;
  const known = [
    'loadFormat',
    'dummyFormat',
    'backend',
    'numerics',
    'kvCacheDtype',
    'threads',
    'maxModelLen',
    'maxNumSeqs',
    'maxNumBatchedTokens',
    'longPrefillTokenThreshold',
    'blockSize',
    'kvCacheMemory',
    'numBlocks',
    'prefixCaching',
    'schedulingPolicy',
    'maxQueueSize',
  ] as const;
  const options: Record<string, unknown> = { model: modelPath(model) };
  for (const key of known) if (rest[key] !== undefined) options[key] = rest[key];
  return options as unknown as EngineOptions;
}
