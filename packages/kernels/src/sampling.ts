/**
 * Packing of the `sample` op's parameters: column numbers of `params_f32` [R, 16] and `params_i32` [R, 16].
 *
 * Chain, in this order (docs/numerics): bias (logit_bias, bad words, min_tokens and grammar masks are biases; -Infinity bans) ->
 * repetition penalty (every id in the penalty list) -> frequency and presence penalty (ids with output count > 0) -> temperature ->
 * top_n_sigma -> top_k -> typical_p -> top_p -> min_p -> xtc -> draw: argmax over kept ids of logit/T + G(seed, choice, index, id).
 * temperature 0: argmax of the penalised logits, ties to the lowest id.
 */
export const SampleF32 = {
  temperature: 0,
  topP: 1,
  minP: 2,
  typicalP: 3,
  repetitionPenalty: 4,
  frequencyPenalty: 5,
  presencePenalty: 6,
  topNSigma: 7,
  xtcProbability: 8,
  xtcThreshold: 9,
} as const;

/** `topK` <= 0 or >= V keeps all. `seedLow`/`seedHigh`: the 64-bit seed. `choice`: index among n. `index`: number of tokens generated before this one. */
export const SampleI32 = {
  topK: 0,
  seedLow: 1,
  seedHigh: 2,
  choice: 3,
  index: 4,
  /** How many best logprobs this row wants; -1 = no logprobs at all (the chosen token's is then 0 and unset). */
  logprobs: 5,
  /** 1: logprobs of the processed distribution instead of the raw logits. */
  processedLogprobs: 6,
} as const;

/** Columns of both parameter blocks. */
export const sampleColumns = 16;

/** Values of the `status` output. */
export const SampleStatus = { ok: 0, nonFinite: 1 } as const;
