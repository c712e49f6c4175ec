import { setImmediate } from 'node:timers/promises';
import type { KvCache } from '@dsi/kv-cache';
import type { PlannedRequest, Scheduler, StepOutput, StepPlan } from '@dsi/scheduler';
import { DuplicateRequestError, NumericalError, StepFailedError } from '../errors/request-errors.js';
import { toWire } from '../errors/wire.js';
import { PenaltyCounter } from '../sampling/penalty-counter.js';
import type { SampleRow } from '../sampling/sample-inputs.js';
import { drawSeed, seedHalves } from '../sampling/seed.js';
import type { TokenTextFactory } from '../text/token-text.js';
import { admissionError, admit, type AdmissionLimits } from './admission.js';
import { Choice } from './choice.js';
import type { RowResult, StepRunner, StepSlice } from './model-runner.js';
import { Outbox } from './outbox.js';
import type { EngineStats, FromCore, ToCore, WireRequest } from './protocol.js';
import { RequestState } from './request-state.js';
import type { StepBudget } from './token-budget.js';

export interface EngineCoreParts {
  /** Over `kv`. */
  readonly scheduler: Scheduler;
  readonly kv: KvCache;
  readonly runner: StepRunner;
  /** How many tokens the next step may compute; told of every step. */
  readonly budget: StepBudget;
  readonly text: TokenTextFactory;
  readonly limits: AdmissionLimits;
  readonly eosTokenIds: readonly number[];
  readonly post: (message: FromCore) => void;
  /** Milliseconds since the epoch, with fractions; the same clock as the requests' `arrival`. */
  readonly clock: () => number;
  readonly drawSeed?: () => bigint;
}

interface Owner {
  readonly request: RequestState;
  readonly choice: Choice;
}

/**
 * The engine's loop: plan, launch, take the tokens, post. It owns no model and no thread; `handle` takes messages at any time,
 * and they act between two steps, so an abort frees its blocks within one step. A bad request or a failed step ends the
 * requests concerned and nothing else.
 */
export class EngineCore {
  readonly #parts: EngineCoreParts;
  readonly #requests = new Map<string, RequestState>();
  /** By the scheduler's sequence id. */
  readonly #sequences = new Map<string, Owner>();
  readonly #inbox: ToCore[] = [];
  readonly #outbox: Outbox;
  readonly #eos: ReadonlySet<number>;
  readonly #scheduler: Scheduler;
  #wake: (() => void) | undefined;
  #closing = false;
  #sequenceCount = 0;
  #promptTokens = 0;
  #generationTokens = 0;

  constructor(parts: EngineCoreParts) {
    this.#parts = parts;
    this.#scheduler = parts.scheduler;
    this.#eos = new Set(parts.eosTokenIds);
    this.#outbox = new Outbox(parts.post, () => this.stats());
  }

  /** Takes a message; it acts before the next step. */
  handle(message: ToCore): void {
    this.#inbox.push(message);
    this.#wake?.();
  }

  /** Runs until a `close` message; then every request has ended and its blocks are back. */
  async run(): Promise<void> {
    while (!this.#closing) {
      await setImmediate();
      for (const message of this.#inbox.splice(0)) this.#receive(message);
      if (this.#closing) break;
      if (!this.#scheduler.hasWork) {
        this.#outbox.flush();
        await this.#message();
        continue;
      }
      await this.#step();
    }
    for (const id of this.#requests.keys()) this.#abort(id);
    this.#outbox.flush();
  }

  stats(): EngineStats {
    const { numRunning, numWaiting, numPreemptions, numSteps, kv } = this.#scheduler.stats();
    return {
      running: numRunning,
      waiting: numWaiting,
      kvUsage: kv.totalBlocks === 0 ? 0 : kv.usedBlocks / kv.totalBlocks,
      kvTotalBlocks: kv.totalBlocks,
      kvUsedBlocks: kv.usedBlocks,
      kvCachedBlocks: kv.cachedBlocks,
      prefixQueryTokens: kv.queryTokens,
      prefixHitTokens: kv.hitTokens,
      preemptions: numPreemptions,
      steps: numSteps,
      promptTokens: this.#promptTokens,
      generationTokens: this.#generationTokens,
      tokenBudget: this.#parts.budget.current,
    };
  }

  #message(): Promise<void> {
    if (this.#inbox.length > 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined;
        resolve();
      };
    });
  }

  #receive(message: ToCore): void {
    switch (message.type) {
      case 'add':
        return this.#add(message.request);
      case 'abort':
        return this.#abort(message.id);
      case 'query':
        return this.#answer(message.token, message.what);
      case 'close':
        this.#closing = true;
    }
  }

  #answer(token: number, what: 'check-integrity' | 'clear-prefix-cache' | 'stats'): void {
    this.#outbox.flush();
    try {
      let value: unknown;
      if (what === 'check-integrity') this.#scheduler.checkIntegrity();
      else if (what === 'clear-prefix-cache') value = this.#parts.kv.clearPrefixCache();
      else value = this.stats();
      this.#parts.post({ type: 'answer', token, value });
    } catch (error) {
      this.#parts.post({ type: 'answer', token, value: undefined, error: toWire(error) });
    }
  }

  #add(wire: WireRequest): void {
    const { kv, limits } = this.#parts;
    const { sampling } = wire;
    const seed = sampling.seed ?? (this.#parts.drawSeed ?? drawSeed)();
    let request = new RequestState(wire, seed, sampling.maxTokens ?? 0);
    try {
      if (this.#requests.has(wire.id)) throw new DuplicateRequestError({ requestId: wire.id });
      request = new RequestState(wire, seed, admit(wire, limits, kv));
      const choice = this.#choice(request, 0);
      const view = this.#scheduler.add({
        id: choice.sequenceId,
        promptTokens: wire.promptIds,
        maxTokens: request.maxTokens,
        priority: wire.priority,
        ...(wire.cacheSalt === undefined ? {} : { cacheKey: { salt: wire.cacheSalt } }),
        usePrefixCache: sampling.promptLogprobs < 0,
      });
      request.views.push(view);
      request.choices.push(choice);
      this.#requests.set(wire.id, request);
      this.#sequences.set(choice.sequenceId, { request, choice });
    } catch (error) {
      this.#outbox.end(wire.id, request.metrics(this.#parts.clock(), 'error'), admissionError(error));
    }
  }

  #choice(request: RequestState, index: number): Choice {
    const { wire, maxTokens } = request;
    const { sampling } = wire;
    const repetition = sampling.repetitionPenalty !== 1;
    const counted = repetition || sampling.frequencyPenalty !== 0 || sampling.presencePenalty !== 0;
    return new Choice({
      sequenceId: `${this.#sequenceCount++}`,
      index,
      sampling,
      seed: seedHalves(request.seed),
      maxTokens,
      eosTokenIds: this.#eos,
      penalties: counted ? new PenaltyCounter(repetition ? wire.promptIds : []) : undefined,
      text: this.#parts.text.open({ skipSpecialTokens: sampling.skipSpecialTokens }),
    });
  }

  #abort(id: string): void {
    const request = this.#requests.get(id);
    if (!request) return;
    if (!request.forked) this.#outbox.start(request);
    for (const choice of request.choices) {
      if (choice.finished) continue;
      this.#scheduler.finish(choice.sequenceId, 'abort');
      this.#outbox.delta(request, choice, [], { text: choice.abort(), finishReason: 'abort' });
    }
    this.#forget(request);
    this.#outbox.end(id, request.metrics(this.#parts.clock(), 'abort'));
  }

  /** Ends a request with an error; between steps only. Sequences that the last `update` ended are left alone by the scheduler. */
  #fail(request: RequestState, error: unknown): void {
    if (this.#requests.get(request.id) !== request) return;
    for (const choice of request.choices) {
      choice.finished = true;
      this.#scheduler.finish(choice.sequenceId, 'error');
    }
    this.#forget(request);
    this.#outbox.end(request.id, request.metrics(this.#parts.clock(), 'error'), error);
  }

  #forget(request: RequestState): void {
    this.#requests.delete(request.id);
    for (const choice of request.choices) this.#sequences.delete(choice.sequenceId);
  }

  async #step(): Promise<void> {
    const { runner, clock, budget } = this.#parts;
    const plan = this.#scheduler.schedule(budget.current);
    if (plan.requests.length === 0) {
      this.#outbox.flush();
      return;
    }
    const begin = clock();
    const slices = plan.requests.map((planned) => this.#slice(planned, begin));
    let results: RowResult[][];
    try {
      results = await runner.run(slices, plan.transfers);
    } catch (error) {
      this.#stepFailed(plan, error);
      this.#outbox.flush();
      return;
    }
    const now = clock();
    budget.observe(plan.numTokens, now - begin);
    const interTokenMs: number[] = [];
    this.#update(plan, slices, results, now, interTokenMs);
    this.#outbox.flush({ tokens: plan.numTokens, sequences: slices.length, ms: now - begin, interTokenMs });
  }

  #slice(planned: PlannedRequest, now: number): StepSlice {
    const { request, choice } = this.#sequences.get(planned.id)!;
    request.firstScheduledAt ??= now;
    const { numComputed: start, numTokens: count, tokens, blockTable, numBlocks } = planned;
    const rows: SampleRow[] = request.scoreRows(start, start + count);
    const position = start + count - 1;
    if (planned.wantsLogits) {
      rows.push({ position, draw: choice.draw() });
      if (!request.forked) {
        for (let index = 1; index < request.wire.sampling.n; index++) {
          if (request.choices.length <= index) request.choices.push(this.#choice(request, index));
          rows.push({ position, draw: request.choices[index]!.draw() });
        }
      }
    } else if (rows.at(-1)?.position !== position) {
      // Every chunk proves that its KV is finite before its blocks become matchable.
      rows.push({ position, draw: { kind: 'score', target: -1, logprobs: 0 } });
    }
    return { tokens, start, count, blockTable, numBlocks, rows };
  }

  /** What the step wrote is unknown: its blocks must not be matched, hence `numerical_error` towards the scheduler. */
  #stepFailed(plan: StepPlan, error: unknown): void {
    const failure = new StepFailedError({ reason: error instanceof Error ? error.message : String(error) });
    const outputs = plan.requests.map(({ id }): StepOutput => ({ id, tokens: [], finishReason: 'numerical_error' }));
    const failed = new Set(plan.requests.map(({ id }) => this.#sequences.get(id)!.request));
    this.#scheduler.update({ stepId: plan.stepId, outputs });
    for (const request of failed) this.#fail(request, failure);
  }

  #update(
    plan: StepPlan,
    slices: readonly StepSlice[],
    results: readonly RowResult[][],
    now: number,
    interTokenMs: number[],
  ): void {
    const outputs: StepOutput[] = [];
    const after: (() => void)[] = [];
    plan.requests.forEach(({ id }, i) => {
      const owner = this.#sequences.get(id)!;
      const slice = slices[i]!;
      const rows = results[i]!;
      const bad = rows.findIndex((row) => !row.finite);
      if (bad >= 0) {
        outputs.push({ id, tokens: [], finishReason: 'numerical_error' });
        const error = new NumericalError({ position: slice.rows[bad]!.position });
        after.push(() => this.#fail(owner.request, error));
        return;
      }
      outputs.push(this.#take(owner, slice, rows, now, interTokenMs, after));
    });
    try {
      this.#scheduler.update({ stepId: plan.stepId, outputs });
    } catch (error) {
      // A backend that draws an id out of range: nothing of the step was taken.
      return this.#stepFailed(plan, error);
    }
    for (const action of after) action();
  }

  /** Takes one sequence's rows. What needs the step to be complete goes to `after`. */
  #take(
    { request, choice }: Owner,
    slice: StepSlice,
    rows: readonly RowResult[],
    now: number,
    interTokenMs: number[],
    after: (() => void)[],
  ): StepOutput {
    const drawn: RowResult[] = [];
    slice.rows.forEach(({ position, draw }, r) => {
      if (draw.kind === 'draw') drawn.push(rows[r]!);
      else if (draw.target >= 0) request.scored(position, rows[r]!);
    });
    const id = choice.sequenceId;
    if (drawn.length === 0) return { id, tokens: [] };
    if (request.forked) {
      const accepted = this.#accept(request, choice, drawn[0]!, now, interTokenMs);
      if (request.done) after.push(() => this.#finished(request, now));
      return { id, tokens: [drawn[0]!.token], ...(accepted ? { finishReason: accepted } : {}) };
    }
    request.firstTokenAt = now;
    this.#promptTokens += request.wire.promptIds.length;
    this.#outbox.start(request);
    const ends = drawn.map((row, c) => this.#accept(request, request.choices[c]!, row, now, interTokenMs));
    // A parent that ends with its first token must live until its children are forked.
    const forks = request.choices.slice(1).filter((child) => !child.finished);
    const early = ends[0] !== undefined && forks.length > 0;
    after.push(() => {
      for (const child of forks) this.#fork(request, choice, child);
      if (early) this.#scheduler.finish(id, ends[0]!);
      if (request.done) this.#finished(request, now);
    });
    return { id, tokens: [drawn[0]!.token], ...(ends[0] && !early ? { finishReason: ends[0] } : {}) };
  }

  #fork(request: RequestState, parent: Choice, child: Choice): void {
    if (!this.#requests.has(request.id)) return;
    try {
      const view = this.#scheduler.fork(parent.sequenceId, { id: child.sequenceId, generated: child.output });
      request.views.push(view);
      this.#sequences.set(child.sequenceId, { request, choice: child });
    } catch (error) {
      this.#fail(request, admissionError(error));
    }
  }

  /** @returns the reason when the choice ended */
  #accept(
    request: RequestState,
    choice: Choice,
    row: RowResult,
    now: number,
    interTokenMs: number[],
  ): 'stop' | 'length' | undefined {
    if (choice.lastTokenAt !== undefined) interTokenMs.push(now - choice.lastTokenAt);
    choice.lastTokenAt = now;
    this.#generationTokens++;
    const accepted = choice.accept(row.token);
    this.#outbox.delta(request, choice, [row], accepted);
    return accepted.finishReason === 'abort' ? undefined : accepted.finishReason;
  }

  #finished(request: RequestState, now: number): void {
    if (!this.#requests.has(request.id)) return;
    this.#forget(request);
    const byLength = request.choices.every((choice) => choice.output.length >= request.maxTokens);
    this.#outbox.end(request.id, request.metrics(now, byLength ? 'length' : 'stop'));
  }
}
