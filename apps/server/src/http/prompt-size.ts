import type { ServedModel } from '../served-model.js';
import { ApiError } from './api-error.js';

/**
 * Refuses a text that cannot fit the context before it is tokenised: tokenising runs on the thread that serves everyone.
 * @throws ApiError 400 naming the field and both sizes
 */
export function checkPromptSize(model: ServedModel, chars: number, field: string): void {
  if (chars <= model.maxPromptChars) return;
  throw new ApiError(
    400,
    `${field} has ${chars} characters, more than the ${model.maxPromptChars} that ${model.maxModelLen} tokens of context can hold at most; shorten it.`,
    { param: field, code: 'context_length_exceeded' },
  );
}

/** UTF-16 units of all strings in a JSON value. */
export function textLength(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce((sum: number, item) => sum + textLength(item), 0);
}
