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

const MAX_REMEMBERED = 1 << 16;
/** Code units given to the segmenter at once. */
const WINDOW = 256;

/** Applies a compiled character map; also what GGUF files hold as `tokenizer.ggml.precompiled_charsmap`. */
export class CharacterMap {
  private readonly trie: Uint32Array;
  private readonly pool: Uint8Array;
  private readonly characters = new Map<string, string>();

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
    let start = 0;
    while (start < text.length) {
      // Between ASCII characters there is always a grapheme border, but for CR LF.
      let end = start;
      while (end < text.length && isAsciiGrapheme(text, end)) result += this.character(text[end++]!);
      start = end;
      while (end < text.length && !isAsciiGrapheme(text, end)) end++;
      if (end === start) break;
      result += this.mapGraphemes(text.slice(start, end));
      start = end;
    }
    return result;
  }

  /** Segments window by window, as the segmenter's time grows with the square of its input. */
  private mapGraphemes(text: string): string {
    let result = '';
    let inside = false; // the window begins inside a grapheme that is longer than a window
    for (let start = 0; start < text.length;) {
      let end = Math.min(text.length, start + WINDOW);
      if (end < text.length && (text.charCodeAt(end) & 0xfc00) === 0xdc00) end--;
      const segments = Array.from(graphemes().segment(text.slice(start, end)), ({ segment }) => segment);
      // The last grapheme may go on in the next window.
      const open = end < text.length && segments.length > 1 ? segments.pop()!.length : 0;
      segments.forEach((segment, i) => {
        result += inside && i === 0 ? this.eachCharacter(segment) : this.grapheme(segment);
      });
      inside = end < text.length && segments.length === 1 && open === 0;
      start = end - open;
    }
    return result;
  }

  private grapheme(segment: string): string {
    if (segment.length < 6) {
      const whole = this.lookup(segment, 5);
      if (whole !== undefined) return whole;
    }
    return this.eachCharacter(segment);
  }

  private eachCharacter(segment: string): string {
    let result = '';
    for (const character of segment) result += this.character(character);
    return result;
  }

  /** One character as the map has it; remembered, as there are few. */
  private character(character: string): string {
    let mapped = this.characters.get(character);
    if (mapped === undefined) {
      mapped = this.lookup(character, 4) ?? character;
      if (this.characters.size < MAX_REMEMBERED) this.characters.set(character, mapped);
    }
    return mapped;
  }

  /** The replacement of the shortest prefix of `text` that the trie holds. */
  private lookup(text: string, maxBytes: number): string | undefined {
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

/** Whether the character at `index` is ASCII and forms a grapheme of its own: not in CR LF, not before a mark. */
function isAsciiGrapheme(text: string, index: number): boolean {
  const unit = text.charCodeAt(index);
  if (unit >= 0x80 || (index + 1 < text.length && text.charCodeAt(index + 1) >= 0x80)) return false;
  if (unit === 13) return text.charCodeAt(index + 1) !== 10;
  return unit !== 10 || index === 0 || text.charCodeAt(index - 1) !== 13;
}

function offsetOf(unit: number): number {
  return (unit >>> 10) << ((unit & 0x200) >>> 6);
}

let segmenter: Intl.Segmenter | undefined;

function graphemes(): Intl.Segmenter {
  return (segmenter ??= new Intl.Segmenter('und', { granularity: 'grapheme' }));
}
