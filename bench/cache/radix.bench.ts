import { KvCacheManager, uniformSpec } from '@dsi/kv-cache';
import { bestOf, report } from './clock.js';

/** A prompt of 4,096 tokens goes through the manager: match, lock, allocate, insert, free. */
const length = 4096;
const spec = uniformSpec({ kind: 'mla', layers: 61, kvLoraRank: 512, ropeHeadDim: 64, bytesPerElement: 2 });
const prompts = Array.from({ length: 64 }, (_, p) =>
  Int32Array.from({ length }, (_, i) => (Math.imul(i + 1, 2654435761) ^ (p * 7919)) & 0x1ffff),
);

function run(title: string, tokensOf: (round: number) => Int32Array, numBlocks: number): void {
  const kv = new KvCacheManager({ spec, numBlocks });
  const count = 2_000;
  let round = 0;
  const seconds = bestOf(5, () => {
    for (let i = 0; i < count; i++) {
      const tokens = tokensOf(round++);
      kv.open(i, tokens, length);
      kv.allocate(i, length);
      kv.commit(i, tokens, length);
      kv.free(i, { cache: true });
    }
  });
  report(title, count / seconds, 'prompts/s');
  kv.checkIntegrity();
}

run('radix, 4,096 tokens: match + insert, all hit', (round) => prompts[round % 64]!, 64 * 256 + 1);
run('radix, 4,096 tokens: match + insert, all new (evicting)', (round) => prompts[round % 64]!, 32 * 256 + 1);
const shared = prompts.map((_, p) => {
  const tokens = prompts[0]!.slice();
  tokens.fill(p, length / 2);
  return tokens;
});
run('radix, 4,096 tokens: match + insert, half shared', (round) => shared[round % 64]!, 32 * 256 + 1);

const kv = new KvCacheManager({ spec, numBlocks: 257 });
const tokens = prompts[0]!;
kv.open(0, tokens, length);
kv.allocate(0, length);
kv.commit(0, tokens, length);
const matches = 20_000;
const seconds = bestOf(5, () => {
  for (let i = 0; i < matches; i++) kv.matchPrefix(tokens, length);
});
report('radix, 4,096 tokens: match alone', matches / seconds, 'prompts/s');
