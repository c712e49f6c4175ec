import { KvCapacityError } from '@dsi/kv-cache';
import { describe, expect, it } from 'vitest';
import { SimulatedEngine, type EngineOptions } from '../test/simulated-engine.js';
import {
  InvalidRequestError,
  QueueFullError,
  RequestTooLongError,
  SchedulerConfigError,
  SchedulerStateError,
  UnknownRequestError,
} from './errors.js';
import { IterationScheduler } from './iteration-scheduler.js';
import { PriorityPolicy } from './priority-policy.js';
import type { StepPlan } from './step-plan.js';

/** A vocabulary this large never draws the stop token 0 in these tests. */
function engine(options: Partial<EngineOptions> = {}): SimulatedEngine {
  const base = {
    numBlocks: 33,
    blockSize: 4,
    maxNumBatchedTokens: 16,
    maxNumSeqs: 4,
    maxModelLen: 100,
    vocabulary: 1e9,
  };
  return new SimulatedEngine({ ...base, ...options });
}
const prompt = (length: number, first = 1): number[] => Array.from({ length }, (_, i) => first + i);
const shares = (plan: StepPlan): [string, number][] => plan.requests.map(({ id, numTokens }) => [id, numTokens]);
const generatedBy = (e: SimulatedEngine, id: string): number => e.scheduler.get(id)!.numGenerated;

/** Steps until a request of low priority ends under a flood of urgent ones; at most 300. */
function stepsUnderFlood(ageingMs: number): number {
  const e = engine({ maxNumSeqs: 1, policy: new PriorityPolicy({ ageingMs }) });
  const meek = e.add('meek', prompt(3), 3, { priority: 100 });
  let steps = 0;
  for (; meek.status !== 'finished' && steps < 300; steps++) {
    e.add(`pushy${steps}`, prompt(2, 50), 2, { priority: 0 });
    e.step();
  }
  return steps;
}

describe('planning', () => {
  it('serves decodes first, then prefill chunks within the budget', () => {
    const e = engine();
    e.add('a', prompt(6), 20);
    e.add('b', prompt(30, 100), 20);
    expect(shares(e.step())).toEqual([
      ['a', 6],
      ['b', 10],
    ]);
    e.add('c', prompt(4, 200), 20);
    const plan = e.step();
    expect(shares(plan)).toEqual([
      ['a', 1],
      ['b', 15],
    ]);
    expect(plan.requests.map(({ wantsLogits }) => wantsLogits)).toEqual([true, false]);
    expect(shares(e.step())).toEqual([
      ['a', 1],
      ['b', 5],
      ['c', 4],
    ]);
    expect(shares(e.step())).toEqual([
      ['a', 1],
      ['b', 1],
      ['c', 1],
    ]);
  });

  it('bounds one prefill chunk by longPrefillTokenThreshold', () => {
    const e = engine({ longPrefillTokenThreshold: 5 });
    e.add('a', prompt(12), 20);
    e.add('b', prompt(12, 50), 20);
    expect(shares(e.step())).toEqual([
      ['a', 5],
      ['b', 5],
    ]);
    e.step();
    expect(shares(e.step())).toEqual([
      ['a', 2],
      ['b', 2],
    ]);
  });

  it('keeps a step within its own budget, but never below a token for every running sequence', () => {
    const e = engine();
    e.add('a', prompt(10), 20);
    e.add('b', prompt(10, 50), 20);
    expect(shares(e.step(6))).toEqual([['a', 6]]);
    expect(shares(e.step(1))).toEqual([['a', 1]]);
    expect(shares(e.step(7))).toEqual([
      ['a', 3],
      ['b', 4],
    ]);
    // Two run: the floor is 2, one of which the decode takes first.
    const floor = e.step(1);
    expect(shares(floor)).toEqual([
      ['a', 1],
      ['b', 1],
    ]);
    expect(floor.numTokens).toBe(2);
    // Beyond maxNumBatchedTokens the option holds.
    e.add('c', prompt(40, 100), 20);
    expect(e.step(1000).numTokens).toBe(16);
  });

  it('takes a free seat at a budget of maxNumSeqs', () => {
    const e = engine();
    for (const id of ['a', 'b', 'c']) e.add(id, prompt(2), 30);
    e.step();
    e.add('d', prompt(9, 40), 30);
    expect(shares(e.step(3)).map(([id]) => id)).toEqual(['a', 'b', 'c']);
    expect(shares(e.step(4))).toEqual([
      ['a', 1],
      ['b', 1],
      ['c', 1],
      ['d', 1],
    ]);
  });

  it.each([0, -1, 1.5, Number.NaN])('refuses a budget of %s and plans nothing', (maxTokens) => {
    const e = engine();
    e.add('a', prompt(3), 2);
    expect(() => e.scheduler.schedule(maxTokens)).toThrow(SchedulerConfigError);
    expect(e.step().stepId).toBe(1);
  });

  it('runs at most maxNumSeqs', () => {
    const e = engine({ maxNumSeqs: 2 });
    for (const id of ['a', 'b', 'c']) e.add(id, prompt(2), 3);
    expect(e.step().requests.length).toBe(2);
    expect(e.scheduler.stats()).toMatchObject({ numRunning: 2, numWaiting: 1 });
  });

  it('gives an empty plan, and starts no step, when there is nothing to do', () => {
    const e = engine();
    expect(e.scheduler.schedule()).toMatchObject({ requests: [], numTokens: 0 });
    expect(() => e.scheduler.update({ stepId: 1, outputs: [] })).toThrow(SchedulerStateError);
    expect(e.scheduler.schedule().stepId).toBe(2);
    expect(e.scheduler.stats().numSteps).toBe(0);
  });

  it('takes prefix hits, unless the request declines them', () => {
    const e = engine();
    e.add('a', prompt(10), 1);
    e.step();
    const hit = e.add('b', prompt(10), 2);
    const miss = e.add('c', prompt(10), 2, { usePrefixCache: false });
    const other = e.add('d', prompt(3), 2, { cacheKey: { salt: 'x' } });
    expect([hit.numCachedTokens, miss.numCachedTokens]).toEqual([-1, -1]);
    expect(shares(e.step())).toEqual([
      ['b', 2],
      ['c', 10],
      ['d', 3],
    ]);
    expect([hit, miss, other].map((view) => view.numCachedTokens)).toEqual([8, 0, 0]);
  });
});

describe('preemption by recompute', () => {
  it('takes memory from the youngest, which comes back first and loses no token', () => {
    const e = engine({ numBlocks: 9 });
    const [a, b] = [e.add('a', prompt(8), 20), e.add('b', prompt(8, 50), 20)];
    e.step();
    e.add('c', prompt(2, 90), 2);
    let plan = e.step();
    while (plan.preempted.length === 0) plan = e.step();
    expect(plan.preempted).toEqual(['b']);
    expect(shares(plan)).toEqual([['a', 1]]);
    expect(b).toMatchObject({ status: 'waiting', numComputed: 0, numPreemptions: 1 });
    const kept = b.numGenerated;
    expect(kept).toBeGreaterThan(4);
    while (b.status === 'waiting') plan = e.step();
    expect(a.status).toBe('finished');
    expect(plan.requests[0]).toMatchObject({ id: 'b' });
    expect(plan.requests[0]!.numComputed + plan.requests[0]!.numTokens).toBe(8 + kept);
    while (e.scheduler.hasWork) e.step();
    expect([...b.tokens.subarray(8, 28)]).toEqual(e.expected(prompt(8, 50), 20));
    expect(e.scheduler.stats().numPreemptions).toBe(1);
    e.expectAllReturned();
  });

  it('takes back what it had planned for a sequence that an older one then needs to push out', () => {
    const options = { blockSize: 1, maxNumBatchedTokens: 2, maxNumSeqs: 2, longPrefillTokenThreshold: 1 };
    const e = engine({ numBlocks: 22, ...options });
    e.add('old', prompt(18), 2);
    e.add('young', prompt(1, 60), 15);
    let plan = e.step();
    while (plan.preempted.length === 0) {
      expect(shares(plan).length).toBe(2);
      plan = e.step();
    }
    // "young" decodes, so it was planned first and took the last block, which "old" then needed for its next chunk.
    expect(plan.preempted).toEqual(['young']);
    expect([shares(plan), plan.numTokens]).toEqual([[['old', 1]], 1]);
    expect(e.kv.stats().usedBlocks).toBe(11);
    while (e.scheduler.hasWork) e.step();
    e.expectAllReturned();
  });

  it('lets the last in order sit a step out with its blocks, when it is the one that finds none', () => {
    const e = engine({ blockSize: 1, numBlocks: 12, longPrefillTokenThreshold: 3 });
    e.add('old', prompt(1), 8);
    const young = e.add('young', prompt(6, 60), 5);
    const plans = [e.step(), e.step(), e.step(), e.step()];
    expect(plans.map((plan) => shares(plan).length)).toEqual([2, 2, 2, 1]);
    expect(plans.flatMap((plan) => plan.preempted)).toEqual([]);
    expect(young).toMatchObject({ status: 'running', numComputed: 7 });
  });

  it('leaves an admission waiting that would soon be pushed out again', () => {
    const e = engine({ numBlocks: 9 });
    e.add('a', prompt(15), 17);
    e.step();
    e.add('b', prompt(13, 50), 3);
    expect(shares(e.step())).toEqual([['a', 1]]);
    expect(e.scheduler.stats()).toMatchObject({ numWaiting: 1, numPreemptions: 0 });
  });

  it('keeps going with one sequence that needs the whole pool', () => {
    const e = engine({ numBlocks: 6, maxModelLen: 20 });
    const views = ['a', 'b', 'c'].map((id, i) => e.add(id, prompt(10, 20 * i + 1), 10));
    while (e.scheduler.hasWork) e.step();
    expect(views.map(({ numGenerated }) => numGenerated)).toEqual([10, 10, 10]);
    e.expectAllReturned();
  });
});

describe('priority', () => {
  it('serves lower values first and pushes out a running sequence for a seat', () => {
    const e = engine({ maxNumSeqs: 2, policy: 'priority' });
    const low = e.add('low', prompt(3), 9, { priority: 5 });
    e.add('mid', prompt(3), 9, { priority: 3 });
    e.step();
    e.add('high', prompt(3, 40), 9, { priority: 1 });
    e.add('equal', prompt(3, 60), 9, { priority: 3 });
    const plan = e.step();
    expect(plan.preempted).toEqual(['low']);
    expect(plan.requests.map(({ id }) => id)).toEqual(['mid', 'high']);
    expect(low.status).toBe('waiting');
    while (e.scheduler.hasWork) e.step();
    expect(low).toMatchObject({ status: 'finished', numGenerated: 9, numPreemptions: 1 });
    e.expectAllReturned();
  });

  it('pushes out for memory, but not in vain', () => {
    const e = engine({ numBlocks: 9, policy: 'priority' });
    e.add('first', prompt(8), 8, { priority: 1 });
    e.add('second', prompt(6, 30), 8, { priority: 9 });
    e.step();
    e.add('big', prompt(28, 50), 2, { priority: 5 });
    expect(e.step().preempted).toEqual([]);
    e.add('urgent', prompt(16, 80), 2, { priority: 0 });
    const plan = e.step();
    expect(plan.preempted).toEqual(['second']);
    expect(plan.requests.map(({ id }) => id)).toEqual(['first', 'urgent']);
    while (e.scheduler.hasWork) e.step();
    e.expectAllReturned();
  });

  it('starves nothing: after the ageing bound nothing younger goes first', () => {
    expect(stepsUnderFlood(50)).toBeLessThan(50 + 5);
    expect(stepsUnderFlood(1e6)).toBe(300);
  });
});

describe('ends', () => {
  it('by maxTokens, by the engine, by a step with several tokens', () => {
    const e = engine();
    e.add('a', prompt(3), 1);
    e.add('b', prompt(3, 20), 9);
    e.add('c', prompt(3, 40), 9);
    const { stepId } = e.scheduler.schedule();
    const { finished } = e.scheduler.update({
      stepId,
      outputs: [
        { id: 'a', tokens: [5] },
        { id: 'b', tokens: [6, 7], finishReason: 'stop' },
        { id: 'c', tokens: Int32Array.of(8, 9) },
      ],
    });
    expect(finished).toEqual([
      { id: 'a', reason: 'length', numPromptTokens: 3, numGenerated: 1 },
      { id: 'b', reason: 'stop', numPromptTokens: 3, numGenerated: 2 },
    ]);
    expect(e.scheduler.get('a')).toBe(undefined);
    expect(e.scheduler.get('c')).toMatchObject({ numGenerated: 2, numComputed: 3 });
    expect(e.scheduler.schedule().requests[0]).toMatchObject({
      id: 'c',
      numComputed: 3,
      numTokens: 2,
      wantsLogits: true,
    });
  });

  it('computes the last position again when a step with logits gave no token', () => {
    const e = engine();
    e.add('a', prompt(3), 2);
    e.scheduler.update({ stepId: e.scheduler.schedule().stepId, outputs: [] });
    expect(e.scheduler.schedule().requests[0]).toMatchObject({ numComputed: 2, numTokens: 1, wantsLogits: true });
    e.scheduler.update({ stepId: 2, outputs: [{ id: 'a', tokens: [], finishReason: 'stop' }] });
    e.expectAllReturned();
  });

  it('by abort: at once while waiting or between steps', () => {
    const e = engine({ maxNumSeqs: 1 });
    e.add('a', prompt(9), 5);
    e.add('b', prompt(3), 5);
    e.step();
    expect(e.scheduler.abort('b')).toBe(true);
    expect(e.scheduler.abort('a')).toBe(true);
    expect(e.scheduler.abort('a')).toBe(false);
    e.expectAllReturned();
  });

  it('by abort in flight: within the step, its tokens ignored', () => {
    const e = engine();
    const view = e.add('a', prompt(9), 5);
    e.add('b', prompt(3, 50), 5);
    e.launch();
    expect(e.scheduler.abort('a')).toBe(true);
    expect(e.scheduler.finish('a', 'timeout')).toBe(false);
    expect(view.status).toBe('running');
    e.scheduler.checkIntegrity();
    expect(e.land().finished).toEqual([{ id: 'a', reason: 'abort', numPromptTokens: 9, numGenerated: 0 }]);
    expect(view.status).toBe('finished');
    expect(shares(e.step())).toEqual([['b', 1]]);
    e.scheduler.finish('b', 'timeout');
    e.expectAllReturned();
  });

  it('by numerical_error: what the request wrote is not matchable, what it hit stays', () => {
    const e = engine();
    e.add('good', prompt(8), 1);
    e.step();
    e.add('bad', prompt(20), 9);
    e.step();
    e.launch();
    e.land(() => 'numerical_error');
    expect(e.kv.matchPrefix(Int32Array.from(prompt(20)), 20).numTokens).toBe(8);
    e.expectAllReturned();
  });
});

describe('fork', () => {
  it('shares the parent and copies the last block on the first write', () => {
    const e = engine();
    e.add('a', prompt(10), 5);
    e.step();
    const own = e.fork('a', 'b', []);
    const same = e.fork('a', 'c');
    expect(own).toMatchObject({ status: 'running', numComputed: 9, numTokens: 10, numGenerated: 0 });
    expect(same).toMatchObject({ status: 'running', numComputed: 10, numTokens: 11, numGenerated: 1 });
    const plan = e.step();
    expect(shares(plan)).toEqual([
      ['a', 1],
      ['b', 1],
      ['c', 1],
    ]);
    expect(plan.transfers.length).toBe(2);
    while (e.scheduler.hasWork) e.step();
    expect([...own.tokens.subarray(10, 15)]).toEqual(e.expected(prompt(10), 5));
    e.expectAllReturned();
  });

  it('shares only what the child has in common with its parent', () => {
    const e = engine();
    const parent = e.add('a', prompt(10), 9);
    for (let i = 0; i < 5; i++) e.step();
    const [first, second] = parent.tokens.subarray(10, 12);
    const child = e.fork('a', 'b', [first!, second! + 1, 7]);
    expect(child).toMatchObject({ status: 'running', numComputed: 11, numTokens: 13 });
    while (e.scheduler.hasWork) e.step();
    e.expectAllReturned();
  });

  it('waits where there is no seat', () => {
    const e = engine({ maxNumSeqs: 1 });
    e.add('a', prompt(10), 3);
    e.step();
    const child = e.fork('a', 'b', []);
    expect(child.status).toBe('waiting');
    while (e.scheduler.hasWork) e.step();
    expect(child).toMatchObject({ numCachedTokens: 8, numGenerated: 3 });
    e.expectAllReturned();
  });

  it('is possible while the parent is in flight', () => {
    const e = engine({ maxNumBatchedTokens: 6 });
    e.add('a', prompt(10), 3);
    e.step();
    e.launch();
    const child = e.fork('a', 'b', []);
    expect(child.numComputed).toBe(6);
    e.land();
    while (e.scheduler.hasWork) e.step();
    expect(child.numGenerated).toBe(3);
    e.expectAllReturned();
  });

  it('names what is wrong', () => {
    const e = engine();
    e.add('a', prompt(10), 3);
    e.step();
    expect(() => e.fork('x', 'b')).toThrow(UnknownRequestError);
    expect(() => e.fork('a', 'a')).toThrow(InvalidRequestError);
    expect(() => e.fork('a', 'b', [1, 2, 3])).toThrow(/maxTokens is 3; it must be an integer of at least 4/);
    expect(() => e.fork('a', 'b', [-1])).toThrow(InvalidRequestError);
  });
});

describe('refusals', () => {
  it('of what can never fit give both figures', () => {
    const e = engine({ numBlocks: 9 });
    expect(() => e.add('a', prompt(90), 11)).toThrow(RequestTooLongError);
    expect(() => e.add('a', prompt(90), 11)).toThrow(
      /90 prompt tokens and 11 new tokens are 101, but the context holds 100/,
    );
    expect(() => e.add('a', prompt(30), 3)).toThrow(KvCapacityError);
    expect(() => e.add('a', prompt(30), 3)).toThrow(
      /33 tokens need 9 KV blocks, but the whole pool has 8 \(32 tokens\)/,
    );
    e.add('a', prompt(30), 2);
    while (e.scheduler.hasWork) e.step();
    e.expectAllReturned();
  });

  it('of a full queue give its limit', () => {
    const e = engine({ maxQueueSize: 2 });
    e.add('a', prompt(2), 2);
    e.add('b', prompt(2), 2);
    expect(() => e.add('c', prompt(2), 2)).toThrow(QueueFullError);
    e.step();
    e.add('c', prompt(2), 2);
  });

  it.each([
    ['an empty prompt', [], 1, {}, /promptTokens.length is 0/],
    ['a negative token', [1, -2], 1, {}, /promptTokens\[1\] is -2/],
    ['no new tokens', [1], 0, {}, /maxTokens is 0/],
    ['half a token', [1], 1.5, {}, /maxTokens is 1.5/],
    ['a priority that is no number', [1], 1, { priority: Number.NaN }, /priority is NaN/],
    ['an arrival that never comes', [1], 1, { arrival: Number.POSITIVE_INFINITY }, /arrival is Infinity/],
  ])('of %s', (_, tokens, maxTokens, extra, message) => {
    const e = engine();
    expect(() => e.add('a', tokens, maxTokens, extra)).toThrow(InvalidRequestError);
    expect(() => e.add('a', tokens, maxTokens, extra)).toThrow(message);
    expect(e.scheduler.hasWork).toBe(false);
  });

  it.each([
    { maxNumSeqs: 0 },
    { maxNumSeqs: 17 },
    { maxNumBatchedTokens: 3 },
    { maxModelLen: 0 },
    { longPrefillTokenThreshold: -1 },
    { maxQueueSize: 0 },
    { policy: 'random' },
  ])('of the option %j', (options) => {
    expect(() => engine(options)).toThrow(SchedulerConfigError);
  });
});

describe('verbs out of turn', () => {
  it('schedule while a step is in flight', () => {
    const e = engine();
    e.add('a', prompt(2), 2);
    e.scheduler.schedule();
    expect(() => e.scheduler.schedule()).toThrow(/step 1 is in flight/);
  });

  it('results that do not fit change nothing', () => {
    const e = engine();
    e.add('a', prompt(3), 3);
    e.add('b', prompt(20, 50), 3);
    const { stepId } = e.scheduler.schedule();
    const a = { id: 'a', tokens: [7] };
    const refuse = (step: number, outputs: { id: string; tokens: number[] }[], message: RegExp): void => {
      expect(() => e.scheduler.update({ stepId: step, outputs })).toThrow(SchedulerStateError);
      expect(() => e.scheduler.update({ stepId: step, outputs })).toThrow(message);
    };
    refuse(stepId + 1, [a], /result is of step 2, but step 1/);
    refuse(stepId, [a, { id: 'x', tokens: [] }], /x: not planned/);
    refuse(stepId, [{ id: 'b', tokens: [] }, a], /out of the plan's order/);
    refuse(stepId, [a, a], /a: not planned/);
    refuse(stepId, [a, { id: 'b', tokens: [1] }], /gave it no logits/);
    refuse(stepId, [{ id: 'a', tokens: [1, 2, 3, 4] }], /only 3 of its maxTokens/);
    refuse(stepId, [{ id: 'a', tokens: [-1] }], /token id -1/);
    expect(generatedBy(e, 'a')).toBe(0);
    e.scheduler.update({ stepId, outputs: [a] });
    expect(generatedBy(e, 'a')).toBe(1);
    e.scheduler.checkIntegrity();
  });
});

describe('the clock', () => {
  it('is the default arrival', () => {
    const e = engine();
    e.now = 1234;
    expect(e.add('a', prompt(2), 2).arrival).toBe(1234);
    const scheduler = new IterationScheduler({ kv: e.kv, maxNumBatchedTokens: 4, maxNumSeqs: 1, maxModelLen: 9 });
    expect(scheduler.add({ id: 'a', promptTokens: [1], maxTokens: 1 }).arrival).toBeGreaterThan(0);
  });
});
