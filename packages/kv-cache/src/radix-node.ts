import type { PrefixHandle } from './prefix-cache.js';

/**
 * An edge of the radix tree with the place at its end: blocks [start, end) of every sequence that passes through it.
 *
 *   root (start = end = 0) --[blocks 0..2]--> node --[blocks 3..9]--> node
 *
 * Handles point at ends, so a split puts the NEW node above: the old one keeps its end, and handles stay right.
 */
export class RadixNode implements PrefixHandle {
  parent: RadixNode | null = null;
  /** By hash of the child's first block; unequal children of one hash are chained by `sibling`. */
  children: Map<number, RadixNode> | null = null;
  sibling: RadixNode | null = null;
  /** Hash of the first block: an index only, never proof of equality. */
  hash = 0;
  start = 0;
  length = 0;
  /** Handles locked at this node or below. */
  locks = 0;
  alive = true;
  /** Neighbours in the eviction order; null while locked. */
  older: RadixNode | null = null;
  newer: RadixNode | null = null;

  /**
   * @param namespace key fields that hold for the whole sequence; on roots only.
   * @param tokens    [length * blockSize], with room to grow
   * @param blocks    [length], with room to grow
   * @param tags      [length] or null when all are ''
   */
  constructor(
    readonly namespace: string | null,
    public tokens: Int32Array,
    public blocks: Int32Array,
    public tags: string[] | null,
  ) {}

  get end(): number {
    return this.start + this.length;
  }

  get isLeaf(): boolean {
    return this.children === null || this.children.size === 0;
  }

  attach(child: RadixNode): void {
    this.children ??= new Map();
    child.sibling = this.children.get(child.hash) ?? null;
    child.parent = this;
    this.children.set(child.hash, child);
  }

  /** The child keeps its parent pointer, so that locks below it can still be taken back. */
  detach(child: RadixNode): void {
    const first = this.children!.get(child.hash)!;
    if (first === child) {
      if (child.sibling === null) this.children!.delete(child.hash);
      else this.children!.set(child.hash, child.sibling);
    } else {
      let before = first;
      while (before.sibling !== child) before = before.sibling!;
      before.sibling = child.sibling;
    }
    child.sibling = null;
  }

  forEachChild(visit: (child: RadixNode) => void): void {
    if (this.children === null) return;
    for (const first of this.children.values()) {
      for (let child: RadixNode | null = first; child !== null; child = child.sibling) visit(child);
    }
  }
}
