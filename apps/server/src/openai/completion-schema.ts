import { z } from 'zod';
import { acceptedFields, samplingFields, streamFields, unsupported } from './sampling-schema.js';

const tokenIds = z
  .array(
    z
      .int()
      .min(0)
      .max(2 ** 31 - 1),
  )
  .min(1);

/** One prompt or several; text, or token ids. */
export const promptField = z.union(
  [z.string(), tokenIds, z.array(z.string()).min(1).max(1024), z.array(tokenIds).min(1).max(1024)],
  {
    error: 'a string, an array of strings, an array of token ids, or an array of such arrays',
  },
);

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
