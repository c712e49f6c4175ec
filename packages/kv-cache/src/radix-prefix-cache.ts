import type { BlockPool } from './block-pool.js';
import { blockTagOf, namespaceOf, type CacheKey } from './cache-key.js';
import { KvIntegrityError, KvStateError } from './errors.js';
import { LruOrder, type EvictionOrder } from './eviction-order.js';
import type { PrefixCache } from './prefix-cache.js';
import { RadixNode } from './radix-node.js';

const EMPTY = new Int32Array(0);

/**
 * Radix tree over whole blocks of tokens, one root for each pair of adapter and salt. Matching and inserting cost
 * O(tokens); locking costs O(nodes on the path); evicting costs O(blocks evicted).
 */
export class RadixPrefixCache implements PrefixCache<RadixNode> {
  private readonly roots = new Map<string, RadixNode>();
  private evictable = 0;
  private total = 0;

  constructor(
    private readonly pool: BlockPool,
    private readonly order: EvictionOrder = new LruOrder(),
  ) {}

  get numEvictable(): number {
    return this.evictable;
  }
  get numBlocks(): number {
    return this.total;
  }

  match(key: CacheKey | undefined, tokens: Int32Array, maxBlocks: number, out: Int32Array): number {
    let node = this.roots.get(namespaceOf(key)) ?? null;
    let depth = 0;
    while (node !== null && depth < maxBlocks) {
      const child = this.findChild(node, key, tokens, depth);
      if (child === null) break;
      const equal = this.equalBlocks(child, key, tokens, maxBlocks);
      for (let i = 0; i < equal; i++) out[depth + i] = child.blocks[i]!;
      depth += equal;
      node = equal === child.length ? child : null;
    }
    return depth;
  }

  acquire(key: CacheKey | undefined, tokens: Int32Array, maxBlocks: number): RadixNode {
    const namespace = namespaceOf(key);
    let node = this.roots.get(namespace);
    if (node === undefined) {
      node = new RadixNode(namespace, EMPTY, EMPTY, null);
      this.roots.set(namespace, node);
    }
    while (node.end < maxBlocks) {
      const child = this.findChild(node, key, tokens, node.end);
      if (child === null) break;
      const equal = this.equalBlocks(child, key, tokens, maxBlocks);
      if (equal < child.length) {
        node = this.split(child, equal);
        break;
      }
      node = child;
    }
    this.addLocks(node, null);
    return node;
  }

  path(handle: RadixNode, out: Int32Array): void {
    for (let node: RadixNode | null = handle; node !== null; node = node.parent) {
      for (let i = 0; i < node.length; i++) out[node.start + i] = node.blocks[i]!;
    }
  }

  insert(handle: RadixNode, key: CacheKey | undefined, tokens: Int32Array, table: Int32Array, end: number): RadixNode {
    if (!handle.alive || handle.locks === 0) {
      throw new KvStateError('prefix handle', 'must be locked and alive to be extended');
    }
    let node = handle;
    while (node.end < end) {
      const depth = node.end;
      const child = this.findChild(node, key, tokens, depth);
      if (child === null) {
        node = this.extend(node, key, tokens, table, end);
        break;
      }
      const equal = this.equalBlocks(child, key, tokens, end);
      node = equal < child.length ? this.split(child, equal) : child;
      this.addLocks(node, node.parent);
      this.adopt(node, table);
    }
    return node;
  }

  lock(handle: RadixNode, end: number): RadixNode {
    if (handle.locks === 0 || end > handle.end) {
      throw new KvStateError('prefix handle', `must be locked and reach block ${end}`);
    }
    let node = handle;
    while (node.length > 0 && node.start >= end) node = node.parent!;
    if (end < node.end && node.alive) node = this.split(node, end - node.start);
    this.addLocks(node, null);
    return node;
  }

  unlock(handle: RadixNode): void {
    let root = handle;
    for (let node: RadixNode | null = handle; node !== null; node = node.parent) {
      if (node.locks === 0) throw new KvStateError('prefix handle', 'unlocked more often than locked');
      if (--node.locks === 0 && node.length > 0 && node.alive) {
        this.order.add(node);
        this.evictable += node.length;
      }
      root = node;
    }
    this.dropRootIfUnused(root);
  }

  evict(count: number): number {
    let freed = 0;
    while (freed < count) {
      const node = this.order.victim();
      if (node === null) break;
      if (!node.isLeaf) throw new KvIntegrityError('the eviction order names a node before its descendants');
      while (node.length > 0 && freed < count) {
        node.length--;
        this.evictable--;
        this.total--;
        if (this.pool.removeFromCache(node.blocks[node.length]!)) freed++;
      }
      if (node.length === 0) {
        this.order.remove(node);
        this.detach(node);
      }
    }
    return freed;
  }

  remove(handle: RadixNode, from: number): void {
    let top: RadixNode | null = null;
    for (let node: RadixNode | null = handle; node !== null && node.end > from; node = node.parent) {
      if (node.alive && node.length > 0) top = node;
    }
    if (top === null) return;
    if (top.start < from) this.split(top, from - top.start);
    this.detach(top);
    const pending = [top];
    for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
      node.alive = false;
      if (node.locks === 0) {
        this.order.remove(node);
        this.evictable -= node.length;
      }
      this.total -= node.length;
      for (let i = 0; i < node.length; i++) this.pool.removeFromCache(node.blocks[i]!);
      node.forEachChild((child) => pending.push(child));
    }
  }

  forEachBlock(visit: (block: number) => void): void {
    this.forEachNode((node) => {
      for (let i = 0; i < node.length; i++) visit(node.blocks[i]!);
    });
  }

  checkIntegrity(): void {
    let total = 0;
    let evictable = 0;
    const unlocked = new Set<RadixNode>();
    const seen = new Set<number>();
    for (const [namespace, root] of this.roots) {
      if (root.namespace !== namespace || root.length !== 0) throw new KvIntegrityError('a radix root is malformed');
      if (root.isLeaf && root.locks === 0) throw new KvIntegrityError('an unused radix root is kept');
    }
    this.forEachNode((node) => {
      if (!node.alive) throw new KvIntegrityError('a removed radix node is reachable');
      let below = 0;
      node.forEachChild((child) => {
        below += child.locks;
        if (child.parent !== node || child.start !== node.end || child.length === 0) {
          throw new KvIntegrityError(`radix node at block ${node.end} and its child disagree`);
        }
        if (child.hash !== this.hashBlock(child.tokens, 0, child.tags?.[0] ?? '')) {
          throw new KvIntegrityError(`radix node at block ${child.start} is filed under a wrong hash`);
        }
      });
      if (node.locks < below && node.length > 0)
        throw new KvIntegrityError('a radix node has fewer locks than below it');
      total += node.length;
      if (node.locks === 0 && node.length > 0) {
        unlocked.add(node);
        evictable += node.length;
      }
      for (let i = 0; i < node.length; i++) {
        const block = node.blocks[i]!;
        if (seen.has(block)) throw new KvIntegrityError(`block ${block} is in the radix tree twice`);
        if (!this.pool.isCached(block))
          throw new KvIntegrityError(`block ${block} is in the tree but not marked cached`);
        seen.add(block);
      }
    });
    const listed = new Set<RadixNode>();
    this.order.forEach((node) => {
      if (!unlocked.has(node) || listed.has(node)) throw new KvIntegrityError('the eviction order has a wrong node');
      if (node.parent !== null && listed.has(node.parent)) throw new KvIntegrityError('a parent goes before its child');
      listed.add(node);
    });
    if (listed.size !== unlocked.size) throw new KvIntegrityError('an unlocked node is missing in the eviction order');
    if (total !== this.total || evictable !== this.evictable) {
      throw new KvIntegrityError(
        `tree holds ${total} blocks (count ${this.total}), ${evictable} evictable (count ${this.evictable})`,
      );
    }
  }

  /** New blocks [node.end, end): in place when nobody else points at this leaf, else as a child. */
  private extend(
    node: RadixNode,
    key: CacheKey | undefined,
    tokens: Int32Array,
    table: Int32Array,
    end: number,
  ): RadixNode {
    const size = this.pool.blockSize;
    const from = node.end;
    const count = end - from;
    const inPlace = node.length > 0 && node.isLeaf && node.locks === 1;
    const target = inPlace ? node : new RadixNode(null, new Int32Array(count * size), new Int32Array(count), null);
    const length = target.length;
    if ((length + count) * size > target.tokens.length) {
      target.tokens = grow(target.tokens, (length + count) * size);
      target.blocks = grow(target.blocks, Math.ceil(target.tokens.length / size));
    }
    copy(tokens, from * size, target.tokens, length * size, count * size);
    copy(table, from, target.blocks, length, count);
    for (let i = 0; i < count; i++) this.pool.addToCache(table[from + i]!);
    this.appendTags(target, key, from, count);
    target.length = length + count;
    this.total += count;
    if (!inPlace) {
      target.start = from;
      target.locks = 1;
      target.hash = this.hashBlock(target.tokens, 0, target.tags?.[0] ?? '');
      node.attach(target);
    }
    return target;
  }

  private appendTags(target: RadixNode, key: CacheKey | undefined, from: number, count: number): void {
    if (key?.images === undefined && target.tags === null) return;
    const tags = target.tags ?? Array.from({ length: target.length }, () => '');
    tags.length = target.length;
    for (let i = 0; i < count; i++) tags.push(blockTagOf(key, from + i, this.pool.blockSize));
    target.tags = tags.some((tag) => tag !== '') ? tags : null;
  }

  /** Table entries of equal content are replaced by the node's blocks; references move with them. */
  private adopt(node: RadixNode, table: Int32Array): void {
    for (let i = 0; i < node.length; i++) {
      const cached = node.blocks[i]!;
      const own = table[node.start + i]!;
      if (own === cached) continue;
      this.pool.retain(cached);
      this.pool.release(own);
      table[node.start + i] = cached;
    }
  }

  /** @returns the new node above, covering the first `count` blocks; `node` keeps its end, handles and children. */
  private split(node: RadixNode, count: number): RadixNode {
    const size = this.pool.blockSize;
    const parent = node.parent!;
    const upper = new RadixNode(
      null,
      node.tokens.slice(0, count * size),
      node.blocks.slice(0, count),
      node.tags?.slice(0, count) ?? null,
    );
    upper.start = node.start;
    upper.length = count;
    upper.hash = node.hash;
    upper.locks = node.locks;
    parent.detach(node);
    parent.attach(upper);
    node.tokens = node.tokens.slice(count * size, node.length * size);
    node.blocks = node.blocks.slice(count, node.length);
    node.tags = node.tags?.slice(count, node.length) ?? null;
    node.start += count;
    node.length -= count;
    node.hash = this.hashBlock(node.tokens, 0, node.tags?.[0] ?? '');
    upper.attach(node);
    if (node.locks === 0) this.order.addAbove(upper, node);
    return upper;
  }

  /** One more lock on every node from `node` up to, not including, `stop`. */
  private addLocks(node: RadixNode, stop: RadixNode | null): void {
    for (let at: RadixNode | null = node; at !== stop && at !== null; at = at.parent) {
      if (at.locks === 0 && at.length > 0 && at.alive) {
        this.order.remove(at);
        this.evictable -= at.length;
      }
      at.locks++;
    }
  }

  private detach(node: RadixNode): void {
    node.alive = false;
    const parent = node.parent!;
    parent.detach(node);
    if (parent.parent === null) this.dropRootIfUnused(parent);
  }

  private dropRootIfUnused(root: RadixNode): void {
    if (root.namespace !== null && root.locks === 0 && root.isLeaf) {
      root.alive = false;
      this.roots.delete(root.namespace);
    }
  }

  private findChild(node: RadixNode, key: CacheKey | undefined, tokens: Int32Array, depth: number): RadixNode | null {
    if (node.children === null) return null;
    const size = this.pool.blockSize;
    const tag = blockTagOf(key, depth, size);
    let child = node.children.get(this.hashBlock(tokens, depth * size, tag)) ?? null;
    while (child !== null) {
      let i = 0;
      while (i < size && child.tokens[i] === tokens[depth * size + i]) i++;
      if (i === size && (child.tags?.[0] ?? '') === tag) return child;
      child = child.sibling;
    }
    return null;
  }

  /** Leading whole blocks of `node` that equal the query, the query ending at block `maxBlocks`. */
  private equalBlocks(node: RadixNode, key: CacheKey | undefined, tokens: Int32Array, maxBlocks: number): number {
    const size = this.pool.blockSize;
    const limit = Math.min(node.length, maxBlocks - node.start) * size;
    const offset = node.start * size;
    const own = node.tokens;
    let i = 0;
    while (i < limit && own[i] === tokens[offset + i]) i++;
    let equal = Math.floor(i / size);
    if (node.tags !== null || key?.images !== undefined) {
      for (let b = 0; b < equal; b++) {
        if ((node.tags?.[b] ?? '') !== blockTagOf(key, node.start + b, size)) equal = b;
      }
    }
    return equal;
  }

  private hashBlock(tokens: Int32Array, offset: number, tag: string): number {
    let hash = 0x811c9dc5;
    const end = offset + this.pool.blockSize;
    for (let i = offset; i < end; i++) {
      hash = Math.imul(hash ^ tokens[i]!, 0x01000193);
      hash ^= hash >>> 15;
    }
    for (let i = 0; i < tag.length; i++) hash = Math.imul(hash ^ tag.charCodeAt(i), 0x01000193);
    return hash | 0;
  }

  private forEachNode(visit: (node: RadixNode) => void): void {
    const pending = [...this.roots.values()];
    for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
      visit(node);
      node.forEachChild((child) => pending.push(child));
    }
  }
}

function grow(array: Int32Array, needed: number): Int32Array {
  if (needed <= array.length) return array;
  const grown = new Int32Array(Math.max(needed, 2 * array.length));
  grown.set(array);
  return grown;
}

/** A loop beats `set(subarray())` for the one block that decoding adds now and then. */
function copy(source: Int32Array, from: number, target: Int32Array, to: number, count: number): void {
  if (count > 64) target.set(source.subarray(from, from + count), to);
  else for (let i = 0; i < count; i++) target[to + i] = source[from + i]!;
}
