import type { WeightBytes } from '../contract.js';

/**
 * A part whose bytes are computed when they are first asked for. They are held weakly: kept while someone uses them,
 * computed again after that, so that preparing a large model never holds more than the layer being loaded.
 */
export function lazyPart(byteLength: number, compute: () => Uint8Array): WeightBytes & { readonly byteLength: number } {
  const read = weakly(compute);
  return {
    byteLength,
    get bytes(): Uint8Array {
      return read();
    },
  };
}

/** Several parts that come out of one computation. */
export function lazyParts<K extends string>(
  sizes: Readonly<Record<K, number>>,
  compute: () => Readonly<Record<K, Uint8Array>>,
): Readonly<Record<K, WeightBytes>> {
  const read = weakly(compute);
  const parts = {} as Record<K, WeightBytes>;
  for (const key of Object.keys(sizes) as K[]) parts[key] = lazyPart(sizes[key], () => read()[key]);
  return parts;
}

function weakly<T extends object>(compute: () => T): () => T {
  let held: WeakRef<T> | undefined;
  return () => {
    const alive = held?.deref();
    if (alive !== undefined) return alive;
    const made = compute();
    held = new WeakRef(made);
    return made;
  };
}

/** Little-endian bytes of a typed array, sharing its memory. */
export function bytesOf(array: Float32Array | Uint16Array | Int32Array): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

/** Bytes of a part, whichever kind it is. */
export function partLength(part: WeightBytes): number {
  return 'bytes' in part ? ((part as { byteLength?: number }).byteLength ?? part.bytes.byteLength) : part.byteLength;
}
