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

/** Steps of 20 ms and half a millisecond a token, until the budget has grown to what they allow. */
function warmed(): TokenBudget {
  const budget = new TokenBudget({ maxTokens: 4096, minTokens: 16, targetMs: 200 });
  for (const tokens of [1, 16, 64, 256, 128, 16]) budget.observe(tokens, 20 + tokens * 0.5);
  return budget;
}

test('a long decode does not make prefill look slow', () => {
  const budget = warmed();
  // Batches of 14 to 16 sequences and a clock that jitters: nothing to learn about the cost of a token.
  for (let i = 0; i < 1000; i++) budget.observe(14 + (i % 3), 25 + ((i * 7) % 5));
  expect(budget.current).toBeGreaterThan(340);
  expect(budget.current).toBeLessThan(380);
});

test('a base that grows, as contexts do, shrinks the budget', () => {
  const budget = warmed();
  for (let i = 0; i <= 1000; i++) budget.observe(16, 28 + i / 10);
  expect(budget.current).toBeGreaterThan(150);
  expect(budget.current).toBeLessThan(180);
});
