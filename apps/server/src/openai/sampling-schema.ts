import { z } from 'zod';

/** What a field that this server does not implement may still hold: the value that asks for nothing. */
export function unsupported(name: string, ...neutral: readonly unknown[]) {
  return z
    .unknown()
    .optional()
    .refine(
      (value) =>
        value === undefined ||
        value === null ||
        neutral.includes(value) ||
        (Array.isArray(value) && value.length === 0),
      {
        message: `${name} is not supported by this server${neutral.length > 0 ? ` (only ${JSON.stringify(neutral[0])})` : ''}; leave it out.`,
      },
    );
}

const tokenId = z
  .int()
  .min(0)
  .max(2 ** 31 - 1);
const integer64 = z.int();

/** Sampling fields that chat and text completions share: OpenAI's, and the usual extensions (vLLM's names). */
export const samplingFields = {
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().gt(0).max(1).nullish(),
  top_k: z
    .int()
    .min(-1)
    .max(2 ** 31 - 1)
    .nullish(),
  min_p: z.number().min(0).max(1).nullish(),
  typical_p: z.number().gt(0).max(1).nullish(),
  top_n_sigma: z.number().min(0).nullish(),
  repetition_penalty: z.number().gt(0).max(10).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  logit_bias: z.record(z.string().regex(/^\d+$/, 'keys are token ids'), z.number().min(-100).max(100)).nullish(),
  bad_words: z.array(z.string().min(1)).max(256).nullish(),
  seed: integer64.nullish(),
  n: z.int().min(1).max(128).nullish(),
  stop: z.union([z.string().min(1), z.array(z.string().min(1)).max(16)]).nullish(),
  stop_token_ids: z.array(tokenId).max(256).nullish(),
  include_stop_str_in_output: z.boolean().nullish(),
  ignore_eos: z.boolean().nullish(),
  min_tokens: z.int().min(0).nullish(),
  skip_special_tokens: z.boolean().nullish(),
  priority: z
    .int()
    .min(-(2 ** 31))
    .max(2 ** 31 - 1)
    .nullish(),
  cache_salt: z.string().min(1).max(256).nullish(),
} as const;

/** Fields of OpenAI's API that carry no meaning here and are accepted as sent. */
export const acceptedFields = {
  user: z.string().nullish(),
  metadata: z.record(z.string(), z.string()).nullish(),
  store: unsupported('store', false),
  service_tier: unsupported('service_tier', 'auto', 'default'),
  safety_identifier: z.string().nullish(),
  prompt_cache_key: z.string().nullish(),
} as const;

export const streamFields = {
  stream: z.boolean().nullish(),
  stream_options: z
    .strictObject({ include_usage: z.boolean().nullish(), include_obfuscation: z.boolean().nullish() })
    .nullish(),
} as const;

export type SamplingFields = z.output<z.ZodObject<typeof samplingFields>>;
