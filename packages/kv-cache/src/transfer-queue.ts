import type { BlockPool } from './block-pool.js';
import type { Transfer } from './transfer.js';

/** Transfers waiting for a step, and those in the running step. Both ends of each are pinned until it is complete. */
export class TransferQueue {
  private pending: Transfer[] = [];
  private running: Transfer[] = [];

  constructor(private readonly pool: BlockPool) {}

  /** Queues a copy. A source that itself still waits for its bytes is replaced by where they come from. */
  copy(from: number, dst: number): void {
    let src = from;
    for (const transfer of this.pending) if (transfer.dst === src) src = transfer.src;
    this.pool.pin(src);
    this.pool.pin(dst);
    this.pending.push({ kind: 'copy', src, dst });
  }

  /** Drops pending transfers whose destination has lost its last holder. */
  cancelUnneeded(): void {
    if (this.pending.length === 0) return;
    this.pending = this.pending.filter((transfer) => {
      if (this.pool.refCount(transfer.dst) > this.pool.pinCount(transfer.dst)) return true;
      this.unpin(transfer);
      return false;
    });
  }

  /** The pending transfers, now part of a step. */
  take(): readonly Transfer[] {
    const taken = this.pending;
    if (taken.length > 0) {
      this.running.push(...taken);
      this.pending = [];
    }
    return taken;
  }

  /** The step is complete. */
  complete(): void {
    for (const transfer of this.running) this.unpin(transfer);
    this.running.length = 0;
  }

  /** Adds one for every pin to counts[block]. */
  countPins(counts: Int32Array): void {
    for (const list of [this.pending, this.running]) {
      for (const transfer of list) {
        counts[transfer.src]!++;
        counts[transfer.dst]!++;
      }
    }
  }

  private unpin(transfer: Transfer): void {
    this.pool.unpin(transfer.src);
    this.pool.unpin(transfer.dst);
  }
}
