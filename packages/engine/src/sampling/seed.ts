/** Draws a 64-bit seed. */
export function drawSeed(random: (array: Uint32Array<ArrayBuffer>) => unknown = fill): bigint {
  const words = new Uint32Array(2);
  random(words);
  return (BigInt(words[1]!) << 32n) | BigInt(words[0]!);
}

function fill(array: Uint32Array<ArrayBuffer>): void {
  globalThis.crypto.getRandomValues(array);
}

/** Low and high halves of a 64-bit seed as signed 32-bit integers, as the sample op takes them. */
export function seedHalves(seed: bigint): { low: number; high: number } {
  return { low: Number(BigInt.asIntN(32, seed)), high: Number(BigInt.asIntN(32, seed >> 32n)) };
}
