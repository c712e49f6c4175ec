import { z } from 'zod';
import { ApiError } from './api-error.js';

/** Reads at most `limit` bytes of the body. A larger one is a 413 and is not kept. */
async function readText(request: Request, limit: number): Promise<string> {
  const tooLarge = () =>
    new ApiError(
      413,
      `The request body is larger than the limit of ${limit} bytes; send less or raise --max-body-size.`,
      {
        code: 'body_too_large',
      },
    );
  if (Number(request.headers.get('content-length') ?? 0) > limit) throw tooLarge();
  const reader = request.body?.getReader();
  if (!reader) return '';
  const parts: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.byteLength;
    if (size > limit) {
      await reader.cancel();
      throw tooLarge();
    }
    parts.push(value);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(parts));
  } catch {
    throw new ApiError(400, 'The request body is not valid UTF-8.', { code: 'invalid_utf8' });
  }
}

/** `messages[0].content` rather than zod's path array. */
function fieldPath(path: readonly PropertyKey[]): string {
  let text = '';
  for (const part of path)
    text += typeof part === 'number' ? `[${part}]` : text === '' ? String(part) : `.${String(part)}`;
  return text;
}

/** Where a string with a lone surrogate is, if anywhere. */
function illFormedPath(value: unknown, path: PropertyKey[] = []): string | undefined {
  if (typeof value === 'string') return /\p{Surrogate}/u.test(value) ? fieldPath(path) : undefined;
  if (typeof value !== 'object' || value === null || path.length > 32) return undefined;
  for (const [key, item] of Object.entries(value)) {
    const found = illFormedPath(item, [...path, Array.isArray(value) ? Number(key) : key]);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The most specific issue: inside a union, the branch that got furthest. */
function deepestIssue(
  issue: z.core.$ZodIssue,
  prefix: readonly PropertyKey[] = [],
): { path: PropertyKey[]; message: string } {
  const path = [...prefix, ...issue.path];
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    const inner = issue.errors.flatMap((issues) => issues.map((i) => deepestIssue(i, path)));
    const deepest = inner.reduce((best, next) => (next.path.length > best.path.length ? next : best), inner[0]!);
    if (deepest && deepest.path.length > path.length) return deepest;
    return { path, message: [...new Set(inner.map((i) => i.message))].join('; or: ') || issue.message };
  }
  if (issue.code === 'unrecognized_keys') {
    const key = issue.keys[0] ?? '';
    const shown = key.length > 100 ? `${key.slice(0, 100)}…` : key;
    return { path: [...path, shown], message: `Unrecognized request argument: ${shown}` };
  }
  return { path, message: issue.message };
}

/** JSON body checked by a schema. Everything wrong is a 400 that names the field. */
export async function readBody<S extends z.ZodType>(request: Request, schema: S, limit: number): Promise<z.output<S>> {
  const text = await readText(request, limit);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new ApiError(400, `The request body is not valid JSON: ${(error as Error).message}`, {
      code: 'invalid_json',
    });
  }
  // Half a surrogate pair can only come as an escape; no text contains it, so it could not be answered faithfully.
  if (/\\u[dD][89a-fA-F]/.test(text)) {
    const path = illFormedPath(value);
    if (path)
      throw new ApiError(400, `${path}: holds half of a surrogate pair; send well-formed text.`, { param: path });
  }
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const { path, message } = deepestIssue(result.error.issues[0]!);
  const param = fieldPath(path);
  throw new ApiError(400, param === '' ? message : `${param}: ${message}`, { param: param === '' ? null : param });
}
