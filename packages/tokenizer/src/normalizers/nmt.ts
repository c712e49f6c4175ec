/** SentencePiece's `nmt` rule: controls vanish, exotic spaces and zero-width characters become a space. */
export function nmt(text: string): string {
  let result = '';
  for (const character of text) {
    const c = character.codePointAt(0)!;
    if (isRemoved(c)) continue;
    result += isSpace(c) ? ' ' : character;
  }
  return result;
}

function isRemoved(c: number): boolean {
  return (c >= 0x01 && c <= 0x08) || c === 0x0b || (c >= 0x0e && c <= 0x1f) || c === 0x7f || c === 0x8f || c === 0x9f;
}

function isSpace(c: number): boolean {
  return (
    c === 0x09 ||
    c === 0x0a ||
    c === 0x0c ||
    c === 0x0d ||
    c === 0x1680 ||
    (c >= 0x200b && c <= 0x200f) ||
    c === 0x2028 ||
    c === 0x2029 ||
    c === 0x2581 ||
    c === 0xfeff ||
    c === 0xfffd
  );
}
