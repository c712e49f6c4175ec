import { expect, test } from 'vitest';
import { TokenBudget } from './token-budget.js';

test('converges to what the target time allows, within the flag', () => {
  const budget = new TokenBudget({ maxTokens: 4096, minTokens: 16, targetMs: 200 });
  for (let i = 0; i < 60; i++) {
    budget.observe(4, 20 + 4 * 0.5);
    budget.observe(budget.current, 20 + budget.current * 0.5);
  }
  expect(budget.current).toBeGreaterThan(340);
  expect(budget.current).toBeLessThan(370);
});

test('never leaves [minTokens, maxTokens], and at most doubles', () => {
  const budget = new TokenBudget({ maxTokens: 512, minTokens: 32, targetMs: 200 });
  budget.observe(128, 1e6);
  expect(budget.current).toBe(32);
  let last = budget.current;
  for (let i = 0; i < 100; i++) {
    budget.observe(last, 0.001);
    expect(budget.current).toBeLessThanOrEqual(2 * last);
    last = budget.current;
  }
  expect(budget.current).toBe(512);
});

test('an infinite target is the flag itself', () => {
  const budget = new TokenBudget({ maxTokens: 777, minTokens: 1, targetMs: Infinity });
  budget.observe(700, 1e9);
  expect(budget.current).toBe(777);
});
