import { BlockPool } from '@dsi/kv-cache';
import { bestOf, report } from './clock.js';

/** Allocate and free in three patterns; a pair counts once. */
const pairs = 2_000_000;
const pool = new BlockPool({ numBlocks: 65_537 });

const single = bestOf(5, () => {
  for (let i = 0; i < pairs; i++) pool.release(pool.allocate());
});
report('block pool: allocate + free, one at a time', pairs / single, 'pairs/s');

const held = new Int32Array(65_536);
const all = bestOf(5, () => {
  for (let done = 0; done < pairs; done += held.length) {
    for (let i = 0; i < held.length; i++) held[i] = pool.allocate();
    for (let i = held.length - 1; i >= 0; i--) pool.release(held[i]!);
  }
});
report('block pool: allocate + free, 65,536 held at once', pairs / all, 'pairs/s');
pool.checkIntegrity();
