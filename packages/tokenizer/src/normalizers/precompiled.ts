import { TokenizerFormatError } from '../errors.js';
import { utf8 } from '../unicode/utf16.js';
import type { Normalizer } from './normalizer.js';

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/**
 * SentencePiece's compiled character map: a double-array trie (units as in Darts) from UTF-8 prefixes to offsets into a
 * pool of zero-terminated replacements.
 * @param encoded base64 of: trie size in bytes (uint32, little-endian), trie, replacements
 */
export function precompiled(encoded: string, path: string): Normalizer {
  const map = new CharacterMap(base64Bytes(encoded, path), path);
  return (text) => map.normalize(text);
}

function base64Bytes(encoded: string, path: string): Uint8Array {
  try {
    return Uint8Array.from(atob(encoded), (c) => c.charCodeAt(0));
  } catch {
    throw new TokenizerFormatError(path, 'precompiled_charsmap is not valid base64');
  }
}

/** Applies a compiled character map; also what GGUF files hold as `tokenizer.ggml.precompiled_charsmap`. */
export class CharacterMap {
  private readonly trie: Uint32Array;
  private readonly pool: Uint8Array;

  constructor(bytes: Uint8Array, path: string) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const size = bytes.length >= 4 ? view.getUint32(0, true) : 0;
    if (size % 4 !== 0 || size > bytes.length - 4) {
      throw new TokenizerFormatError(path, `the trie of ${size} bytes does not fit into ${bytes.length} bytes`);
    }
    this.trie = new Uint32Array(size / 4);
    for (let i = 0; i < this.trie.length; i++) this.trie[i] = view.getUint32(4 + 4 * i, true);
    this.pool = bytes.subarray(4 + size);
  }

  /** Maps grapheme by grapheme: a whole one of at most 5 bytes where it is in the map, else its characters. */
  normalize(text: string): string {
    let result = '';
    for (const { segment } of graphemes().segment(text)) {
      const whole = segment.length < 6 ? this.lookup(segment, 5) : undefined;
      if (whole !== undefined) {
        result += whole;
        continue;
      }
      for (const character of segment) result += this.lookup(character) ?? character;
    }
    return result;
  }

  /** The replacement of the shortest prefix of `text` that the trie holds. */
  private lookup(text: string, maxBytes = 4): string | undefined {
    const trie = this.trie;
    const bytes = utf8(text);
    if (bytes.length > maxBytes) return undefined;
    let position = 0;
    let unit = trie[0] ?? 0;
    position ^= offsetOf(unit);
    for (const byte of bytes) {
      if (byte === 0) break;
      position ^= byte;
      unit = trie[position] ?? 0;
      if ((unit & 0x800000ff) !== byte) return undefined;
      position ^= offsetOf(unit);
      if (((unit >>> 8) & 1) === 1) return this.replacement((trie[position] ?? 0) & 0x7fffffff);
    }
    return undefined;
  }

  private replacement(start: number): string {
    let end = start;
    while (end < this.pool.length && this.pool[end] !== 0) end++;
    return decoder.decode(this.pool.subarray(start, end));
  }
}

function offsetOf(unit: number): number {
  return (unit >>> 10) << ((unit & 0x200) >>> 6);
}

let segmenter: Intl.Segmenter | undefined;

function graphemes(): Intl.Segmenter {
  return (segmenter ??= new Intl.Segmenter('und', { granularity: 'grapheme' }));
}
