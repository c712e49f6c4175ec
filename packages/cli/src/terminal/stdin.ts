import { UsageError } from './usage-error.js';

/** Bytes as text. @throws UsageError for bytes that are not UTF-8: replacing them would change the text silently */
export function utf8Text(bytes: Uint8Array, name: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new UsageError(`${name} is not valid UTF-8.`);
  }
}

/** All of standard input as text, without changing a byte of it. @throws UsageError if it is not UTF-8 */
export async function readStdin(): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of process.stdin) parts.push(part as Buffer);
  return utf8Text(Buffer.concat(parts), 'Standard input');
}
