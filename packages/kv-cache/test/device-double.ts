import type { CacheKey, KvCache, SequenceId, Transfer } from '@dsi/kv-cache';

/**
 * Stands for device memory: each token slot holds, as text, all that its KV depends on. A read of a slot that does not hold
 * what the sequence needs there is a cache defect, whatever caused it (a block given to two, a lost copy, a wrong hit).
 */
export class DeviceDouble {
  private readonly slots: string[];

  constructor(
    private readonly kv: KvCache,
    numBlocks: number,
  ) {
    this.slots = Array.from({ length: numBlocks * kv.blockSize }, () => 'never written');
  }

  transfer(transfers: readonly Transfer[]): void {
    const size = this.kv.blockSize;
    const before = this.slots.slice();
    for (const { src, dst } of transfers) {
      for (let i = 0; i < size; i++) this.slots[dst * size + i] = before[src * size + i]!;
    }
  }

  /** Writes positions [from, end). */
  write(id: SequenceId, tokens: Int32Array, key: CacheKey | undefined, from: number, end: number): void {
    for (let p = from; p < end; p++) this.slots[this.slotOf(id, p)] = contentAt(tokens, key, p);
  }

  /** First position in [from, end) whose slot holds something else, or -1. */
  firstWrong(id: SequenceId, tokens: Int32Array, key: CacheKey | undefined, from: number, end: number): number {
    for (let p = from; p < end; p++) {
      if (this.slots[this.slotOf(id, p)] !== contentAt(tokens, key, p)) return p;
    }
    return -1;
  }

  private slotOf(id: SequenceId, position: number): number {
    const size = this.kv.blockSize;
    return this.kv.blockTable(id)[Math.floor(position / size)]! * size + (position % size);
  }
}

function contentAt(tokens: Int32Array, key: CacheKey | undefined, position: number): string {
  const images = (key?.images ?? []).filter((span) => span.start <= position);
  return `${key?.adapter}/${key?.salt}/${JSON.stringify(images)}/${tokens.subarray(0, position + 1).join()}`;
}
