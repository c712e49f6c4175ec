import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, describe, expect, test } from 'vitest';
import { backend, dsi } from './dsi-command.js';

interface ReferencePrompt {
  readonly name: string;
  /** Null where only ids are given. */
  readonly text: string | null;
  readonly ids: number[];
  /** The 64 largest logits of the unquantised model after the prompt, and log-sum-exp of all. */
  readonly topIds: number[];
  readonly topLogits: number[];
  readonly logSumExp: number;
  readonly greedy: number[];
}

const fixture = readFileSync(new URL('fixtures/mini-reference.json.gz', import.meta.url));
const references = JSON.parse(gunzipSync(fixture).toString()) as Record<string, { prompts: ReferencePrompt[] }>;
const work = mkdtempSync(path.join(os.tmpdir(), 'dsi-mini-'));
afterAll(() => rmSync(work, { recursive: true, force: true }));

/**
 * The embedded files hold 3 to 5 bits a weight, so they answer a little differently than the originals. The bounds are what was measured for
 * these files (mean and largest KL over the prompts), rounded up by a tenth: a wrong kernel is off by far more, a repacked file is noticed.
 */
const bounds: Readonly<Record<string, { readonly meanKl: number; readonly maxKl: number; readonly top1: number }>> = {
  'dsi-mini-moe': { meanKl: 0.115, maxKl: 0.45, top1: 8 },
  'dsi-mini-dense': { meanKl: 0.082, maxKl: 0.32, top1: 9 },
};

/** KL of the reference's distribution to ours, in nats: its 64 best tokens one by one, all others as one. */
function divergence(prompt: ReferencePrompt, logits: readonly number[]): number {
  const max = Math.max(...logits);
  const logSumExp = max + Math.log(logits.reduce((sum, l) => sum + Math.exp(l - max), 0));
  let kl = 0;
  let restP = 1;
  let restQ = 1;
  prompt.topIds.forEach((id, i) => {
    const logP = prompt.topLogits[i]! - prompt.logSumExp;
    const logQ = logits[id]! - logSumExp;
    kl += Math.exp(logP) * (logP - logQ);
    restP -= Math.exp(logP);
    restQ -= Math.exp(logQ);
  });
  return restP > 1e-9 && restQ > 1e-9 ? kl + restP * Math.log(restP / restQ) : kl;
}

describe.each(Object.keys(bounds))('%s', (name) => {
  const { prompts } = references[name]!;

  test.each(['exact', 'fast'])('stays near the unquantised model in %s numerics', async (numerics) => {
    const file = path.join(work, `${name}-${numerics}.json`);
    writeFileSync(file, JSON.stringify({ prompts: prompts.map((p) => p.ids), greedy: 1 }));
    const args = [
      'eval',
      'logits',
      '--model',
      name,
      '--tokens-file',
      file,
      '--numerics',
      numerics,
      '--backend',
      backend,
      '--json',
    ];
    const { stdout, stderr, code } = await dsi(args);
    expect(stderr).toBe('');
    expect(code).toBe(0);
    const { results } = JSON.parse(stdout) as { results: { last_logits: number[]; greedy: number[] }[] };
    const kl = prompts.map((prompt, i) => divergence(prompt, results[i]!.last_logits));
    const agreeing = prompts.filter((prompt, i) => results[i]!.greedy[0] === prompt.topIds[0]).length;
    const { meanKl, maxKl, top1 } = bounds[name]!;
    expect(kl.reduce((a, b) => a + b, 0) / kl.length).toBeLessThan(meanKl);
    expect(Math.max(...kl)).toBeLessThan(maxKl);
    expect(agreeing).toBeGreaterThanOrEqual(top1);
  });

  test('its tokenizer gives the reference ids', async () => {
    for (const prompt of prompts) {
      if (prompt.text === null) continue;
      const { stdout } = await dsi(['tokenize', '-m', name, '--parse-special', '--no-special', '--json'], prompt.text);
      const { ids } = JSON.parse(stdout) as { ids: number[] };
      expect(ids[0] === 0 ? ids : [0, ...ids]).toEqual(prompt.ids);
    }
  });
});
