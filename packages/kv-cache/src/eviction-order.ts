import type { RadixNode } from './radix-node.js';

/** Which unlocked node goes first. It must name a node only after all of its descendants. */
export interface EvictionOrder {
  /** A node lost its last lock. Called from the deepest node upwards. */
  add(node: RadixNode): void;
  /** `upper` was split off above the unlocked `lower`. */
  addAbove(upper: RadixNode, lower: RadixNode): void;
  remove(node: RadixNode): void;
  /** The next to go, or null. */
  victim(): RadixNode | null;
  /** From first to go to last. */
  forEach(visit: (node: RadixNode) => void): void;
}

/**
 * Least recently used first. Nodes come in at the newest end, children before parents, so a parent is always newer than
 * its unlocked descendants, and (locks covering whole paths) the oldest node is always a leaf.
 */
export class LruOrder implements EvictionOrder {
  private oldest: RadixNode | null = null;
  private newest: RadixNode | null = null;

  add(node: RadixNode): void {
    node.older = this.newest;
    node.newer = null;
    if (this.newest === null) this.oldest = node;
    else this.newest.newer = node;
    this.newest = node;
  }

  addAbove(upper: RadixNode, lower: RadixNode): void {
    upper.older = lower;
    upper.newer = lower.newer;
    if (lower.newer === null) this.newest = upper;
    else lower.newer.older = upper;
    lower.newer = upper;
  }

  remove(node: RadixNode): void {
    if (node.older === null) this.oldest = node.newer;
    else node.older.newer = node.newer;
    if (node.newer === null) this.newest = node.older;
    else node.newer.older = node.older;
    node.older = null;
    node.newer = null;
  }

  victim(): RadixNode | null {
    return this.oldest;
  }

  forEach(visit: (node: RadixNode) => void): void {
    for (let node = this.oldest; node !== null; node = node.newer) visit(node);
  }
}
