import { KvCacheManager, uniformSpec } from '@dsi/kv-cache';
import { IterationScheduler } from '@dsi/scheduler';
import type { MessagePort } from 'node:worker_threads';
import { inProcessLink } from '../src/client/core-link.js';
import { EngineClient, type EngineRequest } from '../src/client/engine-client.js';
import type { EngineDelta, RequestStream } from '../src/client/request-stream.js';
import { EngineCore } from '../src/core/engine-core.js';
import type { FromCore, ToCore } from '../src/core/protocol.js';
import { TokenBudget, type StepBudget } from '../src/core/token-budget.js';
import type { EngineInfo } from '../src/load/engine-info.js';
import { resolveSampling } from '../src/sampling/resolve-sampling.js';
import type { SamplingParams } from '../src/sampling/sampling-params.js';
import { FakeRunner, type FakeRunnerOptions } from './fake-runner.js';

export interface HarnessOptions extends Partial<Pick<FakeRunnerOptions, 'onStep' | 'isBad'>> {
  readonly numBlocks?: number;
  readonly blockSize?: number;
  readonly maxNumSeqs?: number;
  readonly maxNumBatchedTokens?: number;
  readonly maxModelLen?: number;
  readonly maxQueueSize?: number;
  /** Default: always `maxNumBatchedTokens`. */
  readonly budget?: StepBudget;
}

export const vocabSize = 200;
export const eosTokenId = 199;

/** A core with a fake model, in this thread, and a client on it. A token's text is `<id>`. */
export async function openHarness(options: HarnessOptions = {}) {
  const { numBlocks = 65, blockSize = 4, maxNumSeqs = 8, maxNumBatchedTokens = 64, maxModelLen = 128 } = options;
  const runner = new FakeRunner({ numBlocks, blockSize, vocabSize, ...options });
  const kv = new KvCacheManager({
    spec: uniformSpec({ kind: 'gqa', layers: 1, kvHeads: 1, headDim: 2, bytesPerElement: 4 }),
    numBlocks,
    blockSize,
  });
  const serve = async (port: MessagePort) => {
    const post = (message: FromCore) => port.postMessage(message);
    const core = new EngineCore({
      kv,
      runner,
      scheduler: new IterationScheduler({
        kv,
        maxNumBatchedTokens,
        maxNumSeqs,
        maxModelLen,
        ...(options.maxQueueSize === undefined ? {} : { maxQueueSize: options.maxQueueSize }),
      }),
      budget:
        options.budget ??
        new TokenBudget({ maxTokens: maxNumBatchedTokens, minTokens: maxNumSeqs, targetMs: Infinity }),
      text: { open: () => ({ push: (id) => `<${id}>`, finish: () => '' }) },
      limits: { vocabSize, maxModelLen, maxNumBatchedTokens, maxChoices: 16, captureLogits: false },
      eosTokenIds: [eosTokenId],
      post,
      clock: () => performance.timeOrigin + performance.now(),
    });
    port.on('message', (message: ToCore) => core.handle(message));
    post({ type: 'ready', info: { vocabSize, maxModelLen } as EngineInfo });
    await core.run();
    post({ type: 'closed' });
  };
  const client = await EngineClient.connect(inProcessLink(serve));
  return { client, runner, kv };
}

export function request(
  promptIds: readonly number[],
  params: SamplingParams = {},
  rest: Omit<EngineRequest, 'promptIds' | 'sampling'> = {},
): EngineRequest {
  const sampling = resolveSampling(params, { vocabSize, maxChoices: 1000, encode: (text) => [...text].map(Number) });
  return { promptIds: Int32Array.from(promptIds), sampling, ...rest };
}

export interface Collected {
  readonly tokens: number[][];
  readonly texts: string[];
  readonly reasons: (string | undefined)[];
  readonly stopReasons: (string | number | undefined)[];
  readonly deltas: EngineDelta[];
}

export async function collect(stream: RequestStream): Promise<Collected> {
  const result: Collected = { tokens: [], texts: [], reasons: [], stopReasons: [], deltas: [] };
  for await (const delta of stream) {
    const c = delta.choice;
    (result.tokens[c] ??= []).push(...delta.tokenIds);
    result.texts[c] = (result.texts[c] ?? '') + delta.text;
    result.reasons[c] = delta.finishReason;
    result.stopReasons[c] = delta.stopReason;
    result.deltas.push(delta);
  }
  return result;
}

export const promptOf = (length: number, salt = 0) => Array.from({ length }, (_, i) => (i * 7 + salt * 31 + 3) % 190);
