import { describe, expect, it } from 'vitest';
import { SchedulerConfigError } from './errors.js';
import { createPolicy, POLICY_NAMES } from './policies.js';
import type { RankedSequence, SchedulingPolicy } from './policy.js';
import { PriorityPolicy } from './priority-policy.js';
import { Sequence } from './sequence.js';

let ordinal = 0;
const sequence = (arrival: number, priority = 0): RankedSequence =>
  new Sequence({
    id: `s${++ordinal}`,
    ordinal,
    promptTokens: [1],
    maxTokens: 1,
    priority,
    arrival,
    cacheKey: undefined,
    usePrefixCache: true,
  });
const order = (policy: SchedulingPolicy, ...list: RankedSequence[]): string[] =>
  list.toSorted((a, b) => policy.compare(a, b)).map(({ id }) => id);

describe('createPolicy', () => {
  it('knows its names and names them in its error', () => {
    expect(POLICY_NAMES.map((name) => createPolicy(name).name)).toEqual(['fcfs', 'priority']);
    expect(() => createPolicy('lifo')).toThrow(SchedulerConfigError);
    expect(() => createPolicy('lifo')).toThrow('policy is lifo; it must be one of fcfs, priority');
  });
});

describe('fcfs', () => {
  it('goes by arrival, then by insertion', () => {
    const [a, b, c] = [sequence(5, 9), sequence(3, 9), sequence(5, 0)];
    expect(order(createPolicy('fcfs'), a, b, c)).toEqual([b.id, a.id, c.id]);
  });
});

describe('priority', () => {
  it('serves lower values first, then by arrival', () => {
    const [a, b, c] = [sequence(1, 2), sequence(2, -1), sequence(0, 2)];
    expect(order(new PriorityPolicy(), a, b, c)).toEqual([b.id, c.id, a.id]);
  });

  it('serves what has aged before anything younger', () => {
    const policy = new PriorityPolicy({ ageingMs: 100 });
    const [old, older, young] = [sequence(10, 5), sequence(5, 7), sequence(50, 0)];
    for (const each of [old, older, young]) policy.onAdd(each, 50);
    expect(policy.refresh([old], [older, young], 104)).toBe(false);
    expect(order(policy, old, older, young)).toEqual([young.id, old.id, older.id]);
    expect(policy.refresh([old], [older, young], 105)).toBe(true);
    expect(order(policy, old, older, young)).toEqual([older.id, young.id, old.id]);
    expect(policy.refresh([old], [older, young], 109)).toBe(false);
    expect(policy.refresh([old], [older, young], 110)).toBe(true);
    expect(order(policy, old, older, young)).toEqual([older.id, old.id, young.id]);
  });

  it('counts what arrived long ago as aged at once', () => {
    const policy = new PriorityPolicy({ ageingMs: 100 });
    const late = sequence(0, 9);
    policy.onAdd(late, 500);
    expect(order(policy, sequence(450, 0), late)[0]).toBe(late.id);
  });

  it('refuses an ageing bound that is no duration', () => {
    expect(() => new PriorityPolicy({ ageingMs: -1 })).toThrow(SchedulerConfigError);
    expect(() => new PriorityPolicy({ ageingMs: Number.NaN })).toThrow(SchedulerConfigError);
  });
});
