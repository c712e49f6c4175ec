import { readFile, stat } from 'node:fs/promises';
import { LimitExceededError, MalformedFieldError } from './errors.js';

/** Text of a file, or undefined if it does not exist. Refused above `limit` bytes. */
export async function readTextFile(file: string, limit: number): Promise<string | undefined> {
  let size: number;
  try {
    size = (await stat(file)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  if (size > limit)
    throw new LimitExceededError(`${size} bytes, at most ${limit} are read`, {
      file,
      field: 'file size',
      value: size,
      limit,
    });
  return readFile(file, 'utf8');
}

/** A file that holds one JSON object, or undefined if it does not exist. */
export async function readJsonFile(file: string, limit: number): Promise<Record<string, unknown> | undefined> {
  const text = await readTextFile(file, limit);
  if (text === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new MalformedFieldError(
      `no valid JSON: ${(cause as Error).message}`,
      { file, field: 'JSON', limit: 'a JSON object' },
      { cause },
    );
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new MalformedFieldError('the JSON is no object', { file, field: 'JSON', limit: 'a JSON object' });
  return value as Record<string, unknown>;
}
