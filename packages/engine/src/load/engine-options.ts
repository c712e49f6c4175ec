import type { Numerics } from '@dsi/kernels';
import { dummyFormats, type DummyOptions } from '@dsi/models';
import { EngineConfigError } from '../errors/lifecycle-errors.js';

export type BackendChoice = 'cpu' | 'reference' | 'auto';

export type DummyFormat = NonNullable<DummyOptions['format']>;

/** How an engine is loaded. Plain data: it is posted to the worker. */
export interface EngineOptions {
  /** A `.gguf` or `.safetensors` file, a directory in Hugging Face layout, or a hub id (`owner/name`, `owner/name-GGUF:Q4_K_M`). */
  readonly model: string;
  /**
   * `auto` (default): the model's weights. `dummy`: `model` is a directory with a config.json, or such a file, and the weights are
   * random: for speed and memory work on sizes whose weights are not at hand. There is no tokenizer then: prompts are ids.
   */
  readonly loadFormat?: 'auto' | 'dummy';
  /** Format of random matrices (`BF16`, `Q4_0`, `Q4_K`, ...); default: BF16. */
  readonly dummyFormat?: DummyFormat;
  /**
   * `cpu` (default): native kernels, or an error that lists why they do not load. `reference`: plain TypeScript, slow.
   * `auto`: `cpu` where it loads, else `reference`, which `info.notices` then says.
   */
  readonly backend?: BackendChoice;
  /** `fast` (default): int8 or bf16 products, KV in the model's dtype. `exact`: everything f32. */
  readonly numerics?: Numerics;
  /** Element type of the KV cache; default: f32 in exact numerics (which takes no other), the model's in fast. */
  readonly kvCacheDtype?: 'f32' | 'f16' | 'bf16';
  /** Threads of the native kernels; default: the cores this process may use. */
  readonly threads?: number;
  /** Tokens of a sequence at most; default: the model's limit, or what the KV pool holds if that is less. */
  readonly maxModelLen?: number;
  /** Sequences that run at once. Default 64. */
  readonly maxNumSeqs?: number;
  /** Tokens of a step at most; what `maxStepMs` allow may be less. Default 1024. */
  readonly maxNumBatchedTokens?: number;
  /** Most prompt tokens of one request in one step; 0 (default) = no limit but the step's. */
  readonly longPrefillTokenThreshold?: number;
  /** Milliseconds a step should take at most, so that aborts act soon. Default 200; Infinity: steps as large as allowed. */
  readonly maxStepMs?: number;
  /** Token slots of a KV block. Default 16. */
  readonly blockSize?: number;
  /**
   * Bytes of the KV pool. Default: a quarter of the memory this process may use (cgroups considered), but no more than
   * `maxNumSeqs` sequences of `maxModelLen` tokens can use.
   */
  readonly kvCacheMemory?: number;
  /** The pool in usable blocks instead. */
  readonly numBlocks?: number;
  /** Reuse the KV of equal prefixes. Default true. */
  readonly prefixCaching?: boolean;
  /** `fcfs` (default) or `priority`. */
  readonly schedulingPolicy?: string;
  /** Waiting requests at most; default: no limit. */
  readonly maxQueueSize?: number;
  /** `auto` (default): generation_config.json gives defaults for parameters that a request leaves out. `none`: it does not. */
  readonly generationConfig?: 'auto' | 'none';
  /** For tests: requests may ask for the raw logits of their tokens. */
  readonly captureLogits?: boolean;
}

export type ResolvedEngineOptions = Required<Omit<EngineOptions, OptionalEngineOption>> &
  Pick<EngineOptions, OptionalEngineOption>;

/** Options without a fixed default. */
type OptionalEngineOption =
  'maxModelLen' | 'kvCacheMemory' | 'numBlocks' | 'maxQueueSize' | 'threads' | 'kvCacheDtype' | 'dummyFormat';

/**
 * Fills in defaults and checks ranges.
 * @throws EngineConfigError naming the option, its value and what it must be
 */
export function resolveEngineOptions(options: EngineOptions): ResolvedEngineOptions {
  const o = {
    loadFormat: 'auto' as const,
    backend: 'cpu' as const,
    numerics: 'fast' as const,
    maxNumSeqs: 64,
    longPrefillTokenThreshold: 0,
    maxStepMs: 200,
    blockSize: 16,
    prefixCaching: true,
    schedulingPolicy: 'fcfs',
    generationConfig: 'auto' as const,
    captureLogits: false,
    ...defined(options),
  };
  const resolved = { maxNumBatchedTokens: Math.max(1024, o.maxNumSeqs), ...o };
  if (typeof o.model !== 'string' || o.model === '') fail('model', o.model, 'it must be a path or a hub id');
  oneOf('loadFormat', resolved.loadFormat, ['auto', 'dummy']);
  if (resolved.dummyFormat !== undefined) {
    oneOf('dummyFormat', resolved.dummyFormat, dummyFormats);
    if (resolved.loadFormat !== 'dummy') fail('dummyFormat', resolved.dummyFormat, "it needs loadFormat: 'dummy'");
  }
  oneOf('backend', resolved.backend, ['cpu', 'reference', 'auto']);
  oneOf('numerics', resolved.numerics, ['exact', 'fast']);
  oneOf('generationConfig', resolved.generationConfig, ['auto', 'none']);
  if (resolved.kvCacheDtype !== undefined) oneOf('kvCacheDtype', resolved.kvCacheDtype, ['f32', 'f16', 'bf16']);
  integer('threads', resolved.threads, 1, 1024);
  integer('maxModelLen', resolved.maxModelLen, 2, 2 ** 31 - 1);
  integer('maxNumSeqs', resolved.maxNumSeqs, 1, 4096);
  integer('maxNumBatchedTokens', resolved.maxNumBatchedTokens, resolved.maxNumSeqs, 2 ** 20);
  integer('longPrefillTokenThreshold', resolved.longPrefillTokenThreshold, 0, 2 ** 31 - 1);
  integer('blockSize', resolved.blockSize, 1, 256);
  integer('numBlocks', resolved.numBlocks, 1, 2 ** 31 - 2);
  integer('maxQueueSize', resolved.maxQueueSize, 0, 2 ** 31 - 1);
  integer('kvCacheMemory', resolved.kvCacheMemory, 1, Number.MAX_SAFE_INTEGER);
  if (!(resolved.maxStepMs > 0)) fail('maxStepMs', resolved.maxStepMs, 'it must be above 0');
  if (resolved.numBlocks !== undefined && resolved.kvCacheMemory !== undefined) {
    fail('numBlocks', resolved.numBlocks, 'kvCacheMemory is given too: give one of them');
  }
  return resolved;
}

function defined(options: EngineOptions): EngineOptions {
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined),
  ) as unknown as EngineOptions;
}

function fail(field: string, value: unknown, limit: string): never {
  throw new EngineConfigError({ field, value, limit });
}

function oneOf(field: string, value: string, allowed: readonly string[]): void {
  if (!allowed.includes(value)) fail(field, value, `it must be one of ${allowed.join(', ')}`);
}

function integer(field: string, value: number | undefined, min: number, max: number): void {
  if (value !== undefined && !(Number.isSafeInteger(value) && value >= min && value <= max)) {
    fail(field, value, `it must be an integer from ${min} to ${max}`);
  }
}
