import { z } from 'zod';
import { acceptedFields, samplingFields, streamFields, unsupported } from './sampling-schema.js';

const maxPrompts = 1024;

/** One prompt or several; text, or token ids. Checked by hand, so that the error names the very element. */
export const promptField = z.custom<string | number[] | string[] | number[][]>().superRefine((prompt, context) => {
  const wrong = (path: (string | number)[], message: string) => context.addIssue({ code: 'custom', path, message });
  if (typeof prompt === 'string') return;
  if (!Array.isArray(prompt) || prompt.length === 0) {
    wrong([], 'a string, an array of strings, an array of token ids, or an array of such arrays');
    return;
  }
  const [first] = prompt;
  if (typeof first === 'number') {
    const bad = prompt.findIndex((id) => !isTokenId(id));
    if (bad >= 0) wrong([bad], 'must be a token id, as the first element is');
    return;
  }
  if (prompt.length > maxPrompts) wrong([], `has ${prompt.length} prompts; the limit is ${maxPrompts} a request`);
  prompt.forEach((item: unknown, i) => {
    if (
      typeof first === 'string'
        ? typeof item === 'string'
        : Array.isArray(item) && item.length > 0 && item.every(isTokenId)
    )
      return;
    wrong(
      [i],
      typeof first === 'string'
        ? 'must be a string, as the first element is'
        : 'must be a non-empty array of token ids',
    );
  });
});

function isTokenId(id: unknown): boolean {
  return Number.isInteger(id) && (id as number) >= 0 && (id as number) < 2 ** 31;
}

/** POST /v1/completions */
export const completionRequest = z
  .strictObject({
    model: z.string(),
    prompt: promptField,
    max_tokens: z.int().min(0).nullish(),
    echo: z.boolean().nullish(),
    logprobs: z.int().min(0).max(20).nullish(),
    best_of: z.int().min(1).nullish(),
    suffix: unsupported('suffix', ''),
    add_special_tokens: z.boolean().nullish(),
    ...samplingFields,
    ...streamFields,
    ...acceptedFields,
  })
  .refine((r) => r.best_of == null || r.best_of === (r.n ?? 1), {
    path: ['best_of'],
    message: 'must equal n: this server returns every choice that it generates',
  })
  .refine((r) => r.stream_options == null || r.stream === true, {
    path: ['stream_options'],
    message: 'needs "stream": true',
  })
  .refine((r) => r.max_tokens !== 0 || r.echo === true, { path: ['max_tokens'], message: '0 needs "echo": true' });

export type CompletionRequest = z.output<typeof completionRequest>;
