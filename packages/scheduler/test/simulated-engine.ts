import { expect } from 'vitest';
import { KvCacheManager, type CacheKey, type Transfer } from '@dsi/kv-cache';
import { IterationScheduler } from '@dsi/scheduler';
import type { FinishReason, SchedulerOptions, SequenceView, StepOutput, StepPlan, UpdateResult } from '@dsi/scheduler';

export interface EngineOptions extends Omit<SchedulerOptions, 'kv' | 'clock'> {
  readonly numBlocks: number;
  readonly blockSize: number;
  readonly window?: number | null;
  readonly prefixCache?: 'radix' | 'none';
  /** Token 0 ends a request. */
  readonly vocabulary?: number;
}

/**
 * A scheduler with a cache and a device that remembers, in every token slot, a digest of all tokens up to it (and of the
 * cache key). Every planned request is checked to find exactly its own past in its blocks; its next token is a function of
 * that past alone, so what a request generates must not depend on anything else.
 */
export class SimulatedEngine {
  readonly kv: KvCacheManager;
  readonly scheduler: IterationScheduler;
  readonly window: number | null;
  now = 0;
  plan: StepPlan | null = null;
  private readonly slots: Float64Array;
  private readonly keys = new Map<string, string>();
  private readonly vocabulary: number;

  constructor(readonly options: EngineOptions) {
    const { numBlocks, blockSize, window = null, prefixCache = 'radix', vocabulary = 40 } = options;
    const spec = { groups: [{ layers: [0], bytesPerToken: 1, window }] };
    this.window = window;
    this.vocabulary = vocabulary;
    this.kv = new KvCacheManager({ spec, numBlocks, blockSize, prefixCache });
    this.scheduler = new IterationScheduler({ ...options, kv: this.kv, clock: () => this.now });
    this.slots = new Float64Array(numBlocks * blockSize).fill(-1);
  }

  /** Digest of everything that the KV at each position depends on. */
  digests(tokens: ArrayLike<number>, end: number, key = ''): number[] {
    const digests: number[] = [];
    let state = 7;
    for (let i = 0; i < key.length; i++) state = mix(state, key.charCodeAt(i));
    for (let p = 0; p < end; p++) digests.push((state = mix(state, tokens[p]! + 1)));
    return digests;
  }

  /** What follows `tokens`, by this "model". */
  nextToken(tokens: ArrayLike<number>, length: number, key = ''): number {
    return this.digests(tokens, length, key).at(-1)! % this.vocabulary;
  }

  add(id: string, promptTokens: readonly number[], maxTokens: number, extra: ExtraFields = {}): SequenceView {
    this.keys.set(id, keyText(extra.cacheKey));
    return this.scheduler.add({ id, promptTokens, maxTokens, ...extra });
  }

  fork(parent: string, id: string, generated?: readonly number[]): SequenceView {
    this.keys.set(id, this.keys.get(parent)!);
    return this.scheduler.fork(parent, generated === undefined ? { id } : { id, generated });
  }

  /** First half of a step: plans, moves blocks, checks every read, writes. */
  launch(maxTokens?: number): StepPlan {
    const plan = this.scheduler.schedule(maxTokens);
    this.checkPlan(plan);
    this.transfer(plan.transfers);
    const { blockSize } = this.options;
    const slotAt = (table: Int32Array, p: number): number =>
      table[Math.floor(p / blockSize)]! * blockSize + (p % blockSize);
    const pasts = plan.requests.map(({ id, tokens, numComputed, numTokens }) =>
      this.digests(tokens, numComputed + numTokens, this.keys.get(id)!),
    );
    for (const [i, { id, numComputed, blockTable }] of plan.requests.entries()) {
      const past = pasts[i]!;
      const visible = this.window === null ? 0 : Math.max(0, numComputed - this.window + 1);
      for (let p = visible; p < past.length; p++) {
        const slot = slotAt(blockTable, p);
        if (slot < blockSize) expect.fail(`${id} uses the null block at position ${p}`);
        if (p >= numComputed) this.slots[slot] = past[p]!;
        else if (this.slots[slot] !== past[p]) expect.fail(`${id} reads another's KV at position ${p}`);
      }
    }
    for (const [i, { id, numComputed, blockTable }] of plan.requests.entries()) {
      const past = pasts[i]!;
      for (let p = numComputed; p < past.length; p++) {
        if (this.slots[slotAt(blockTable, p)] !== past[p]) expect.fail(`${id} lost what it wrote at position ${p}`);
      }
    }
    this.plan = plan.requests.length > 0 ? plan : null;
    return plan;
  }

  /** Second half: samples, stops at token 0. */
  land(fail: (id: string) => FinishReason | undefined = () => undefined): UpdateResult {
    const plan = this.plan!;
    this.plan = null;
    const outputs: StepOutput[] = [];
    for (const { id, tokens, numComputed, numTokens, wantsLogits } of plan.requests) {
      const reason = fail(id);
      if (reason !== undefined) outputs.push({ id, tokens: [], finishReason: reason });
      else if (wantsLogits) {
        const token = this.nextToken(tokens, numComputed + numTokens, this.keys.get(id)!);
        outputs.push(token === 0 ? { id, tokens: [token], finishReason: 'stop' } : { id, tokens: [token] });
      }
    }
    return this.scheduler.update({ stepId: plan.stepId, outputs });
  }

  step(maxTokens?: number): StepPlan {
    const plan = this.launch(maxTokens);
    if (this.plan !== null) this.land();
    this.now++;
    return plan;
  }

  /** What the request generates when it is served alone, token by token. */
  expected(promptTokens: readonly number[], maxTokens: number, key?: CacheKey): number[] {
    const tokens = [...promptTokens];
    let state = this.digests(tokens, tokens.length, keyText(key)).at(-1)!;
    while (tokens.length < promptTokens.length + maxTokens) {
      const token = state % this.vocabulary;
      tokens.push(token);
      if (token === 0) break;
      state = mix(state, token + 1);
    }
    return tokens.slice(promptTokens.length);
  }

  /** Every block is free or cached, and the cache can be emptied. */
  expectAllReturned(): void {
    this.scheduler.checkIntegrity();
    expect(this.scheduler.hasWork).toBe(false);
    expect(this.kv.numSequences).toBe(0);
    expect(this.kv.stats().usedBlocks).toBe(0);
    this.kv.clearPrefixCache();
    expect(this.kv.stats().freeBlocks).toBe(this.kv.totalBlocks);
    this.kv.checkIntegrity();
  }

  private checkPlan(plan: StepPlan): void {
    const { maxNumBatchedTokens, maxNumSeqs, longPrefillTokenThreshold = 0 } = this.options;
    let sum = 0;
    for (const { id, numTokens, numComputed, wantsLogits } of plan.requests) {
      const view = this.scheduler.get(id)!;
      expect(numTokens).toBeGreaterThan(0);
      expect(numComputed).toBe(view.numComputed);
      expect(wantsLogits).toBe(numComputed + numTokens === view.numTokens);
      if (longPrefillTokenThreshold > 0) expect(numTokens).toBeLessThanOrEqual(longPrefillTokenThreshold);
      sum += numTokens;
    }
    expect(sum).toBe(plan.numTokens);
    expect(sum).toBeLessThanOrEqual(maxNumBatchedTokens);
    expect(plan.requests.length).toBeLessThanOrEqual(maxNumSeqs);
    expect(new Set(plan.requests.map(({ id }) => id)).size).toBe(plan.requests.length);
    expect(plan.requests.length > 0 || !this.scheduler.hasWork).toBe(true);
  }

  private transfer(transfers: readonly Transfer[]): void {
    const size = this.options.blockSize;
    const before = this.slots.slice();
    const destinations = new Set(transfers.map(({ dst }) => dst));
    expect(destinations.size).toBe(transfers.length);
    for (const { src, dst } of transfers) {
      expect(destinations.has(src)).toBe(false);
      for (let i = 0; i < size; i++) this.slots[dst * size + i] = before[src * size + i]!;
    }
  }
}

export interface ExtraFields {
  readonly priority?: number;
  readonly arrival?: number;
  readonly cacheKey?: CacheKey;
  readonly usePrefixCache?: boolean;
}

function keyText(key: CacheKey | undefined): string {
  return key === undefined ? '' : JSON.stringify(key);
}

/** 48-bit-safe mixing, so that digests stay exact in a Float64Array. */
function mix(state: number, value: number): number {
  let hash = Math.imul((state & 0x7fffffff) ^ (value * 0x9e3779b1), 0x85ebca6b);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
