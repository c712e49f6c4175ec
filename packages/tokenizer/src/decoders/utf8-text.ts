const lossy = new TextDecoder('utf-8', { ignoreBOM: true });

/** Text of UTF-8 bytes; every maximal invalid part becomes one U+FFFD. A byte order mark is kept. */
export function decodeUtf8(bytes: Uint8Array): string {
  return lossy.decode(bytes);
}

/**
 * The length of the longest prefix of `bytes` that no later byte can change the decoding of: all but an unfinished
 * sequence at the end.
 */
export function settledLength(bytes: Uint8Array, length: number): number {
  // Look back for the lead byte of the last sequence.
  for (let back = 1; back <= 3 && back <= length; back++) {
    const byte = bytes[length - back]!;
    if ((byte & 0xc0) === 0x80) continue;
    return isUnfinished(bytes, length - back, back) ? length - back : length;
  }
  return length;
}

/** Whether the `present` bytes from `at` on are a valid beginning of a longer sequence. */
function isUnfinished(bytes: Uint8Array, at: number, present: number): boolean {
  const lead = bytes[at]!;
  const wanted =
    lead >= 0xf0 && lead <= 0xf4 ? 4 : lead >= 0xe0 && lead < 0xf0 ? 3 : lead >= 0xc2 && lead < 0xe0 ? 2 : 1;
  if (present >= wanted) return false;
  if (present < 2) return true;
  const second = bytes[at + 1]!;
  if (lead === 0xe0) return second >= 0xa0;
  if (lead === 0xed) return second < 0xa0;
  if (lead === 0xf0) return second >= 0x90;
  if (lead === 0xf4) return second < 0x90;
  return true;
}
