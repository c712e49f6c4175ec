import type { KvCache } from '@dsi/kv-cache';
import { InvalidRequestError, QueueFullError, SchedulerStateError, UnknownRequestError } from './errors.js';
import { checkSchedulerIntegrity } from './integrity.js';
import { requireCount, resolveOptions, type ResolvedOptions } from './options.js';
import { RankedList } from './ranked-list.js';
import type { FinishReason, ForkRequest, SchedulerRequest, SequenceView } from './request.js';
import type { Scheduler, SchedulerOptions, SchedulerStats } from './scheduler.js';
import { Sequence, type SequenceInit } from './sequence.js';
import { validateOutputs } from './step-outputs.js';
import type { FinishedRequest, PlannedRequest, StepOutput, StepPlan, StepResult, UpdateResult } from './step-plan.js';
import { requireAdmissible, validateCount, validateFinite, validateTokens } from './validate-request.js';

const NO_TOKENS: ArrayLike<number> = [];

/**
 * Continuous batching with chunked prefill and preemption by recompute.
 *
 * Sequences are served in the policy's total order ("rank"). A step is planned in three passes over one token budget:
 * running decodes, running prefill chunks, then admissions from the head of the waiting queue. A sequence that finds no
 * memory takes it from the running sequence of the lowest rank; the lowest one itself just sits the step out. So the
 * running sequence of the highest rank always gets its share: it may take everything, alone it fits (checked in `add`),
 * and a step's budget is at least one token for every running sequence.
 */
export class IterationScheduler implements Scheduler {
  private readonly kv: KvCache;
  private readonly options: ResolvedOptions;
  private readonly live = new Map<string, Sequence>();
  private readonly waiting: RankedList<Sequence>;
  private readonly running: RankedList<Sequence>;
  private inFlight: Sequence[] | null = null;
  private ordinal = 0;
  private stepId = 0;
  private numPreemptions = 0;
  private numSteps = 0;
  /** Of the plan in the making. */
  private budget = 0;
  private draft: Sequence[] = [];
  private preempted: string[] = [];

  /** @throws {SchedulerConfigError} for an option out of range. */
  constructor(options: SchedulerOptions) {
    this.kv = options.kv;
    this.options = resolveOptions(options);
    const { policy } = this.options;
    const compare = (a: Sequence, b: Sequence): number => policy.compare(a, b);
    this.waiting = new RankedList(compare);
    this.running = new RankedList(compare);
  }

  get hasWork(): boolean {
    return this.live.size > 0;
  }

  add(request: SchedulerRequest): SequenceView {
    const { id, promptTokens, maxTokens, priority = 0, cacheKey, usePrefixCache = true } = request;
    const { maxModelLen, maxChunk, maxQueueSize, clock } = this.options;
    const arrival = request.arrival ?? clock();
    this.requireNew(id);
    validateCount(id, 'promptTokens.length', promptTokens.length, 1);
    validateCount(id, 'maxTokens', maxTokens, 1);
    validateFinite(id, 'priority', priority);
    validateFinite(id, 'arrival', arrival);
    requireAdmissible(this.kv, id, promptTokens.length, maxTokens, maxModelLen, maxChunk);
    validateTokens(id, 'promptTokens', promptTokens);
    if (this.waiting.size >= maxQueueSize) throw new QueueFullError(this.waiting.size, maxQueueSize);
    const sequence = this.create({ id, promptTokens, maxTokens, priority, arrival, cacheKey, usePrefixCache });
    this.waiting.insert(sequence);
    return sequence;
  }

  fork(parentId: string, child: ForkRequest): SequenceView {
    const parent = this.live.get(parentId);
    if (parent === undefined || parent.pendingFinish !== null) throw new UnknownRequestError(parentId);
    const { id, maxTokens = parent.maxTokens } = child;
    const generated = child.generated ?? parent.tokens.subarray(parent.numPromptTokens, parent.numTokens);
    const { maxModelLen, maxChunk, maxNumSeqs } = this.options;
    this.requireNew(id);
    validateCount(id, 'maxTokens', maxTokens, generated.length + 1);
    validateTokens(id, 'generated', generated);
    requireAdmissible(this.kv, id, parent.numPromptTokens, maxTokens, maxModelLen, maxChunk);
    const sequence = this.create({
      id,
      promptTokens: parent.tokens.subarray(0, parent.numPromptTokens),
      maxTokens,
      priority: parent.priority,
      arrival: parent.arrival,
      cacheKey: parent.cacheKey,
      usePrefixCache: true,
    });
    sequence.append(generated);
    const shared = sharedTokens(parent, sequence);
    const canShare = parent.status === 'running' && this.running.size < maxNumSeqs && shared > 0;
    if (canShare && shared >= this.kv.minForkTokens(parent.ordinal)) {
      this.kv.fork(parent.ordinal, sequence.ordinal, shared);
      sequence.numComputed = shared;
      sequence.writtenFrom = shared;
      sequence.numCachedTokens = Math.min(shared, parent.numPromptTokens);
      sequence.status = 'running';
      this.running.insert(sequence);
    } else this.waiting.insert(sequence);
    return sequence;
  }

  schedule(maxTokens: number = this.options.maxNumBatchedTokens): StepPlan {
    requireCount('maxTokens', maxTokens, 1);
    if (this.inFlight !== null) {
      throw new SchedulerStateError(`step ${this.stepId} is in flight; call update with its result first`);
    }
    const { policy, clock, maxNumBatchedTokens } = this.options;
    if (policy.refresh(this.waiting.items, this.running.items, clock())) {
      this.waiting.resort();
      this.running.resort();
    }
    this.stepId++;
    this.budget = Math.min(maxNumBatchedTokens, Math.max(maxTokens, this.running.size));
    this.draft = [];
    this.preempted = [];
    this.planRunning(true);
    this.planRunning(false);
    if (this.preempted.length === 0) while (this.budget > 0 && this.admitNext());
    return this.finishPlan();
  }

  update(result: StepResult): UpdateResult {
    const planned = this.inFlight;
    if (planned === null) throw new SchedulerStateError('no step is in flight');
    if (result.stepId !== this.stepId) {
      throw new SchedulerStateError(`the result is of step ${result.stepId}, but step ${this.stepId} is in flight`);
    }
    const { outputs } = result;
    validateOutputs(planned, outputs);
    this.kv.completeTransfers();
    const finished: FinishedRequest[] = [];
    let next = 0;
    for (const sequence of planned) {
      const output = next < outputs.length && outputs[next]!.id === sequence.id ? outputs[next++] : undefined;
      const reason = this.settle(sequence, output);
      if (reason !== null) {
        const { id, numPromptTokens, numGenerated } = sequence;
        finished.push({ id, reason, numPromptTokens, numGenerated });
      }
    }
    this.inFlight = null;
    if (finished.length > 0) this.running.filter((sequence) => sequence.status === 'running');
    return { finished };
  }

  finish(id: string, reason: FinishReason): boolean {
    const sequence = this.live.get(id);
    if (sequence === undefined || sequence.pendingFinish !== null) return false;
    if (this.inFlight !== null && sequence.numScheduled > 0) {
      sequence.pendingFinish = reason;
      return true;
    }
    if (sequence.status === 'running') this.running.remove(sequence);
    else this.waiting.remove(sequence);
    this.end(sequence, reason);
    return true;
  }

  abort(id: string): boolean {
    return this.finish(id, 'abort');
  }

  get(id: string): SequenceView | undefined {
    return this.live.get(id);
  }

  stats(): SchedulerStats {
    return {
      numRunning: this.running.size,
      numWaiting: this.waiting.size,
      numPreemptions: this.numPreemptions,
      numSteps: this.numSteps,
      kv: this.kv.stats(),
    };
  }

  checkIntegrity(): void {
    checkSchedulerIntegrity({
      kv: this.kv,
      live: this.live,
      waiting: this.waiting.items,
      running: this.running.items,
      inFlight: this.inFlight,
      options: this.options,
    });
    this.kv.checkIntegrity();
  }

  private requireNew(id: string): void {
    if (this.live.has(id)) throw new InvalidRequestError(id, 'id', id, 'unique among the live requests');
  }

  private create(init: Omit<SequenceInit, 'ordinal'>): Sequence {
    const sequence = new Sequence({ ...init, ordinal: ++this.ordinal });
    this.options.policy.onAdd(sequence, this.options.clock());
    this.live.set(sequence.id, sequence);
    return sequence;
  }

  /** Running sequences in rank order, either the decoding ones or the others. Preemption shortens the list at its end. */
  private planRunning(decoding: boolean): void {
    for (let i = 0; i < this.running.size && this.budget > 0; i++) {
      const sequence = this.running.at(i)!;
      const pending = sequence.numPending;
      if ((pending === 1) !== decoding) continue;
      const count = Math.min(pending, this.options.maxChunk, this.budget);
      if (this.obtain(sequence, sequence.numComputed + count)) this.place(sequence, count);
    }
  }

  private place(sequence: Sequence, count: number): void {
    sequence.numScheduled = count;
    this.budget -= count;
    this.draft.push(sequence);
  }

  /** Slots for `total` tokens, if need be from lower ranks. @returns false when the sequence itself is the lowest. */
  private obtain(sequence: Sequence, total: number): boolean {
    while (this.kv.allocate(sequence.ordinal, total) === null) {
      const victim = this.running.last()!;
      if (victim === sequence) return false;
      this.preempt(victim);
    }
    return true;
  }

  /** The lowest running sequence returns its blocks and its share of this step, and waits to be recomputed. */
  private preempt(victim: Sequence): void {
    this.running.pop();
    this.kv.free(victim.ordinal, { cache: true });
    this.budget += victim.numScheduled;
    victim.numScheduled = 0;
    victim.numComputed = 0;
    victim.status = 'waiting';
    victim.numPreemptions++;
    victim.preemptedAt = this.stepId;
    this.numPreemptions++;
    this.waiting.insert(victim);
    this.preempted.push(victim.id);
  }

  /** @returns false when the head of the queue has to wait (nothing behind it overtakes). */
  private admitNext(): boolean {
    const sequence = this.waiting.first();
    if (sequence === undefined || sequence.preemptedAt === this.stepId) return false;
    const juniors = this.countJuniors(sequence);
    if (this.running.size >= this.options.maxNumSeqs && juniors === 0) return false;
    const { ordinal, tokens, numTokens, cacheKey, usePrefixCache, writtenFrom } = sequence;
    const first = sequence.numCachedTokens < 0;
    const hit = this.kv.open(ordinal, tokens, numTokens, {
      key: cacheKey,
      usePrefixCache,
      countQuery: first,
      writtenFrom,
    });
    const room = this.makeRoom(sequence, juniors);
    const count = Math.min(numTokens - hit, this.options.maxChunk, this.budget);
    if (!room || this.kv.allocate(ordinal, hit + count) === null) {
      this.kv.free(ordinal, { cache: true });
      return false;
    }
    this.waiting.remove(sequence);
    sequence.status = 'running';
    sequence.numComputed = hit;
    sequence.writtenFrom = Math.min(writtenFrom, hit);
    if (first) sequence.numCachedTokens = hit;
    this.running.insert(sequence);
    this.place(sequence, count);
    return true;
  }

  /** Running sequences that an admission of `sequence` may push out: the tail of the list. */
  private countJuniors(sequence: Sequence): number {
    const { policy } = this.options;
    let count = 0;
    if (!policy.preemptsAtAdmission) return 0;
    while (count < this.running.size && policy.compare(sequence, this.running.at(this.running.size - 1 - count)!) < 0) {
      count++;
    }
    return count;
  }

  /**
   * An admission must leave memory for what the running sequences still have to compute and one more block each, else it
   * would soon be preempted again. Pushes out up to `juniors` sequences, but only if that can be enough.
   */
  private makeRoom(sequence: Sequence, juniors: number): boolean {
    const { maxChunk, maxNumSeqs } = this.options;
    const needed = this.kv.peakBlocks(sequence.numTokens, maxChunk) - this.kv.heldBlocks(sequence.ordinal);
    const kept = this.running.size - juniors;
    let claims = 0;
    let obtainable = this.kv.availableBlocks;
    for (let i = 0; i < this.running.size; i++) {
      const other = this.running.at(i)!;
      if (i < kept) claims += this.claim(other);
      else obtainable += this.kv.heldBlocks(other.ordinal);
    }
    if (kept > 0 && needed + claims > obtainable) return false;
    for (let i = kept; i < this.running.size; i++) claims += this.claim(this.running.at(i)!);
    while (this.running.size > 0) {
      if (this.running.size < maxNumSeqs && needed + claims <= this.kv.availableBlocks) return true;
      if (this.running.size === kept) return false;
      claims -= this.claim(this.running.last()!);
      this.preempt(this.running.last()!);
    }
    return true;
  }

  private claim(sequence: Sequence): number {
    const peak = this.kv.peakBlocks(sequence.numTokens, this.options.maxChunk);
    return Math.max(0, peak - this.kv.heldBlocks(sequence.ordinal)) + 1;
  }

  private finishPlan(): StepPlan {
    const requests: PlannedRequest[] = [];
    const planned: Sequence[] = [];
    let numTokens = 0;
    for (const sequence of this.draft) {
      const { ordinal, numScheduled, numComputed } = sequence;
      if (numScheduled === 0) continue;
      planned.push(sequence);
      numTokens += numScheduled;
      requests.push({
        id: sequence.id,
        numTokens: numScheduled,
        numComputed,
        tokens: sequence.tokens,
        blockTable: this.kv.blockTable(ordinal),
        numBlocks: this.kv.numBlocks(ordinal),
        wantsLogits: numComputed + numScheduled === sequence.numTokens,
      });
    }
    if (planned.length > 0) {
      this.inFlight = planned;
      this.numSteps++;
    }
    return {
      stepId: this.stepId,
      requests,
      numTokens,
      preempted: this.preempted,
      transfers: this.kv.takeTransfers(),
    };
  }

  /** Takes one sequence's share of a complete step. @returns why it ended, or null. */
  private settle(sequence: Sequence, output: StepOutput | undefined): FinishReason | null {
    const tokens = sequence.pendingFinish === null && output !== undefined ? output.tokens : NO_TOKENS;
    const reached = sequence.numComputed + sequence.numScheduled;
    sequence.numScheduled = 0;
    if (tokens.length > 0) sequence.append(tokens);
    const full = sequence.numGenerated >= sequence.maxTokens;
    const reason = sequence.pendingFinish ?? output?.finishReason ?? (full ? 'length' : null);
    // The last token has no KV when it was just sampled; it stays pending when logits came to nothing.
    const complete = tokens.length > 0 || reason === null ? sequence.numTokens - 1 : sequence.numTokens;
    if (reason !== 'numerical_error') {
      sequence.numComputed = Math.min(reached, complete);
      this.kv.commit(sequence.ordinal, sequence.tokens, sequence.numComputed);
    }
    if (reason !== null) this.end(sequence, reason);
    return reason;
  }

  private end(sequence: Sequence, reason: FinishReason): void {
    if (sequence.status === 'running') this.kv.free(sequence.ordinal, { cache: reason !== 'numerical_error' });
    sequence.status = 'finished';
    this.live.delete(sequence.id);
  }
}

/** Leading tokens whose KV the child can take over: computed by the parent, equal, and not the child's last. */
function sharedTokens(parent: Sequence, child: Sequence): number {
  const limit = Math.min(parent.numComputed, child.numTokens - 1);
  let count = Math.min(limit, parent.numPromptTokens);
  while (count < limit && parent.tokens[count] === child.tokens[count]) count++;
  return count;
}
