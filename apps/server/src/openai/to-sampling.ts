import type { SamplingParams } from '@dsi/engine';
import type { SamplingFields } from './sampling-schema.js';

/** The request's fields as the engine's parameters; absent and null fields stay absent, so that the model's defaults apply. */
export function toSampling(fields: SamplingFields): SamplingParams {
  const params: Record<string, unknown> = {
    temperature: fields.temperature,
    topP: fields.top_p,
    topK: fields.top_k,
    minP: fields.min_p,
    typicalP: fields.typical_p,
    topNSigma: fields.top_n_sigma,
    repetitionPenalty: fields.repetition_penalty,
    frequencyPenalty: fields.frequency_penalty,
    presencePenalty: fields.presence_penalty,
    logitBias: fields.logit_bias,
    badWords: fields.bad_words,
    seed: fields.seed,
    n: fields.n,
    stop: fields.stop,
    stopTokenIds: fields.stop_token_ids,
    includeStopStrInOutput: fields.include_stop_str_in_output,
    ignoreEos: fields.ignore_eos,
    minTokens: fields.min_tokens,
    skipSpecialTokens: fields.skip_special_tokens,
  };
  for (const key of Object.keys(params)) if (params[key] === null || params[key] === undefined) delete params[key];
  return params as SamplingParams;
}
