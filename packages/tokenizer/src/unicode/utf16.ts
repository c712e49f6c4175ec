/** Scratch for one encode call: the text as UTF-16 code units, with lone surrogates replaced by U+FFFD. */
export class CodeUnitBuffer {
  units = new Uint16Array(1024);

  /** Copies `text` into {@link units} and returns its length in code units. Invalidates what was there. */
  load(text: string): number {
    const length = text.length;
    if (this.units.length < length || (this.units.length > 1 << 20 && length < 1 << 16)) {
      this.units = new Uint16Array(Math.max(1024, length + (length >> 3)));
    }
    const units = this.units;
    let surrogates = 0;
    for (let i = 0; i < length; i++) {
      const unit = text.charCodeAt(i);
      units[i] = unit;
      if ((unit & 0xf800) === 0xd800) surrogates++;
    }
    if (surrogates > 0) replaceLoneSurrogates(units, length);
    return length;
  }
}

function replaceLoneSurrogates(units: Uint16Array, length: number): void {
  for (let i = 0; i < length; i++) {
    const unit = units[i]!;
    if ((unit & 0xf800) !== 0xd800) continue;
    if (unit < 0xdc00 && i + 1 < length && (units[i + 1]! & 0xfc00) === 0xdc00) i++;
    else units[i] = 0xfffd;
  }
}

/** The code point of the surrogate pair at `index`; the pair must be well formed. */
export function pairAt(units: Uint16Array, index: number): number {
  return ((units[index]! & 0x3ff) << 10) + (units[index + 1]! & 0x3ff) + 0x10000;
}

const encoder = new TextEncoder();

/** UTF-8 bytes of `text`. */
export function utf8(text: string): Uint8Array {
  return encoder.encode(text);
}

/**
 * Writes the UTF-8 form of `units[start, end)` to `out` at `offset` and returns the end offset.
 * `out` must have room for three bytes a unit; surrogates must be paired.
 */
export function writeUtf8(units: Uint16Array, start: number, end: number, out: Uint8Array, offset: number): number {
  for (let i = start; i < end; i++) {
    let c = units[i]!;
    if (c < 0x80) {
      out[offset++] = c;
    } else if (c < 0x800) {
      out[offset++] = 0xc0 | (c >> 6);
      out[offset++] = 0x80 | (c & 63);
    } else if ((c & 0xfc00) === 0xd800) {
      c = pairAt(units, i++);
      out[offset++] = 0xf0 | (c >> 18);
      out[offset++] = 0x80 | ((c >> 12) & 63);
      out[offset++] = 0x80 | ((c >> 6) & 63);
      out[offset++] = 0x80 | (c & 63);
    } else {
      out[offset++] = 0xe0 | (c >> 12);
      out[offset++] = 0x80 | ((c >> 6) & 63);
      out[offset++] = 0x80 | (c & 63);
    }
  }
  return offset;
}

/** `text` with lone surrogates replaced by U+FFFD. */
export function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\ufffd');
}
