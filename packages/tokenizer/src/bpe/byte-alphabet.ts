/**
 * GPT-2's printable alphabet for bytes: printable Latin-1 characters stand for themselves, the other 68 bytes for
 * U+0100 and up, in order.
 */
export const BYTE_TO_UNIT = new Uint16Array(256);
/** The byte of each alphabet character (index: UTF-16 code unit below 512), -1 for others. */
export const UNIT_TO_BYTE = new Int16Array(512).fill(-1);

let next = 256;
for (let byte = 0; byte < 256; byte++) {
  const printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  const unit = printable ? byte : next++;
  BYTE_TO_UNIT[byte] = unit;
  UNIT_TO_BYTE[unit] = byte;
}

/** The bytes that `token` spells in the alphabet, or undefined when one of its characters is outside it. */
export function alphabetBytes(token: string): Uint8Array | undefined {
  const bytes = new Uint8Array(token.length);
  for (let i = 0; i < token.length; i++) {
    const unit = token.charCodeAt(i);
    const byte = unit < 512 ? UNIT_TO_BYTE[unit]! : -1;
    if (byte < 0) return undefined;
    bytes[i] = byte;
  }
  return bytes;
}

/** `bytes` spelled in the alphabet. */
export function spellBytes(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(BYTE_TO_UNIT[byte]!);
  return text;
}
