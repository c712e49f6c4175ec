import { weightUses, type Executable, type KvStorage, type Program, type WeightSet } from '@dsi/kernels';
import { KvCacheManager } from '@dsi/kv-cache';
import type { ModelDefinition } from '@dsi/models';
import { IterationScheduler } from '@dsi/scheduler';
import { ModelRunner } from '../core/model-runner.js';
import type { LoadedEngine } from '../core/serve-core.js';
import { TokenBudget } from '../core/token-budget.js';
import { EngineConfigError } from '../errors/lifecycle-errors.js';
import type { SamplingParams } from '../sampling/sampling-params.js';
import type { TokenTextFactory } from '../text/token-text.js';
import { buildProgram } from './build-program.js';
import type { ChosenBackend } from './backends.js';
import type { EngineInfo } from './engine-info.js';
import type { ResolvedEngineOptions } from './engine-options.js';
import { kvSpecOf, longestSequence, poolBlocks } from './kv-pool.js';
import type { LoadEvent } from './load-event.js';
import { warmUp } from './warm-up.js';

/** A recognised model and what its files say about decoding. */
export interface ModelParts {
  readonly path: string;
  readonly definition: ModelDefinition;
  readonly text: TokenTextFactory;
  readonly bosTokenId: number | undefined;
  readonly eosTokenIds: readonly number[];
  readonly defaultSampling: SamplingParams;
}

/** Most choices of a request, where the program's rows allow as many. */
const mostChoices = 128;

const clock = () => performance.timeOrigin + performance.now();

/**
 * Builds the program, loads the weights, makes the KV pool and binds them. Owns the backend from then on, also when it throws.
 * @throws EngineConfigError for options that do not fit the model; errors of the model's files; the signal's reason
 */
export async function assembleEngine(
  parts: ModelParts,
  options: ResolvedEngineOptions,
  { backend, notices: backendNotices }: ChosenBackend,
  onEvent: (event: LoadEvent) => void,
  signal: AbortSignal,
): Promise<LoadedEngine> {
  const begin = clock();
  const { definition } = parts;
  const owned: { dispose(): void }[] = [backend];
  const own = <T extends { dispose(): void }>(thing: T): T => {
    owned.unshift(thing);
    return thing;
  };
  const dispose = () => {
    for (const thing of owned.splice(0)) thing.dispose();
  };
  try {
    const wanted = requestedLength(options, definition.config.maxPositions);
    const { model, program } = buildProgram(definition, options, wanted);
    const weights: WeightSet = own(
      await backend.loadWeights(model.weights, weightUses([program]), {
        numerics: options.numerics,
        onProgress: (progress) => onEvent({ stage: 'weights', ...progress }),
        signal,
      }),
    );
    const spec = kvSpecOf(model);
    const numBlocks = poolBlocks(spec, options, wanted);
    const kv = new KvCacheManager({
      spec,
      numBlocks,
      blockSize: options.blockSize,
      prefixCache: options.prefixCaching ? 'radix' : 'none',
    });
    const longest = longestSequence(kv, wanted, options.maxNumBatchedTokens);
    const maxModelLen = options.maxModelLen ?? longest;
    const storage: KvStorage = own(backend.createKv(model.kvSpecs, numBlocks, options.blockSize));
    const executable: Executable = own(backend.compile(program, weights, storage));
    const budget = new TokenBudget({
      maxTokens: options.maxNumBatchedTokens,
      minTokens: options.maxNumSeqs,
      targetMs: options.maxStepMs,
    });
    if (Number.isFinite(options.maxStepMs)) await warmUp(executable, options.blockSize, budget, clock);
    signal.throwIfAborted();
    const notices = [...backendNotices, ...poolNotices(longest, wanted, options)];
    return {
      info: engineInfo({
        parts,
        options,
        program,
        maxModelLen,
        notices,
        kv,
        weights,
        storage,
        loadMs: clock() - begin,
        backend,
      }),
      parts: {
        kv,
        runner: new ModelRunner(executable, options.blockSize),
        scheduler: new IterationScheduler({
          kv,
          maxNumBatchedTokens: options.maxNumBatchedTokens,
          maxNumSeqs: options.maxNumSeqs,
          maxModelLen,
          longPrefillTokenThreshold: options.longPrefillTokenThreshold,
          policy: options.schedulingPolicy,
          ...(options.maxQueueSize === undefined ? {} : { maxQueueSize: options.maxQueueSize }),
        }),
        budget,
        text: parts.text,
        limits: {
          vocabSize: model.vocabSize,
          maxModelLen,
          maxNumBatchedTokens: options.maxNumBatchedTokens,
          maxChoices: Math.min(mostChoices, program.maxDims.R),
          captureLogits: options.captureLogits,
        },
        eosTokenIds: parts.eosTokenIds,
        clock,
      },
      dispose,
    };
  } catch (error) {
    dispose();
    throw error;
  }
}

/** @throws EngineConfigError */
function requestedLength(options: ResolvedEngineOptions, maxPositions: number): number {
  const { maxModelLen } = options;
  if (maxModelLen !== undefined && maxModelLen > maxPositions) {
    const limit = `the model's context is ${maxPositions} tokens`;
    throw new EngineConfigError({ field: 'maxModelLen', value: maxModelLen, limit });
  }
  return maxModelLen ?? maxPositions;
}

function poolNotices(longest: number, wanted: number, options: ResolvedEngineOptions): string[] {
  if (longest >= wanted) return [];
  const pool = `the KV pool holds ${longest} tokens`;
  return options.maxModelLen === undefined
    ? [`${pool}, so the context is ${longest} tokens instead of the model's ${wanted}: raise kvCacheMemory for more`]
    : [`${pool}, fewer than maxModelLen (${wanted}): longer requests are refused`];
}

function engineInfo(e: {
  parts: ModelParts;
  options: ResolvedEngineOptions;
  backend: ChosenBackend['backend'];
  program: Program;
  kv: KvCacheManager;
  weights: WeightSet;
  storage: KvStorage;
  maxModelLen: number;
  loadMs: number;
  notices: readonly string[];
}): EngineInfo {
  const { options, parts, program } = e;
  return {
    model: options.model,
    path: parts.path,
    architecture: parts.definition.config.architecture,
    backend: e.backend.name,
    backendDescription: e.backend.description,
    numerics: options.numerics,
    vocabSize: parts.definition.config.vocabSize,
    bosTokenId: parts.bosTokenId,
    eosTokenIds: parts.eosTokenIds,
    maxModelLen: e.maxModelLen,
    maxNumSeqs: options.maxNumSeqs,
    maxNumBatchedTokens: options.maxNumBatchedTokens,
    maxChoices: Math.min(mostChoices, program.maxDims.R),
    blockSize: options.blockSize,
    numBlocks: e.kv.totalBlocks,
    kvBytes: e.storage.bytes,
    weightBytes: e.weights.bytes,
    arenaBytes: program.arenaBytes,
    loadMs: e.loadMs,
    defaultSampling: options.generationConfig === 'auto' ? parts.defaultSampling : {},
    notices: e.notices,
  };
}
