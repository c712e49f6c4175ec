/**
 * Packing of the `sample` op's parameters: column numbers of `params_f32` [R, 16] and `params_i32` [R, 16].
 *
 * Chain, in this order (docs/numerics): bias (logit_bias, bad words, min_tokens and grammar masks are biases; -Infinity bans) ->
 * repetition penalty (every id in the penalty list) -> frequency and presence penalty (ids with output count > 0) -> temperature ->
 * top_n_sigma -> top_k -> typical_p -> top_p -> min_p -> xtc -> draw: argmax over kept ids of logit/T + G(seed, choice, index, id).
 * temperature 0: argmax of the penalised logits, ties to the lowest id.
 *
 * Every step computes in f32 with one rounding, sums of probabilities in f64. Off: topP >= 1, minP 0, typicalP 0 or >= 1, topNSigma <= 0,
 * xtcProbability 0, topK <= 0 or >= V. topNSigma keeps z >= max - n * (population standard deviation of what is left). topK keeps ties with the
 * k-th value. topP keeps the best while the mass above them is below p, ties by lowest id. xtc, with its probability, removes all candidates of at
 * least `xtcThreshold` (renormalised) but the last of them in the order (value descending, id ascending).
 *
 * Noise: Philox4x32-10, key = (seedLow, seedHigh). Draw: counter = (id >> 2, choice, index, 0), word id & 3, u = (word + 0.5) 2^-32,
 * G = -log(-log(u)). Xtc's coin: counter = (0, choice, index, 1), word 0, u < xtcProbability.
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

/**
 * Values of the `status` output. `nonFinite`: a raw logit is NaN or infinite. `noCandidate`: biases ban every token.
 * The token is -1 and all logprobs are unset (0, id -1) where the status is not `ok`.
 */
export const SampleStatus = { ok: 0, nonFinite: 1, noCandidate: 2 } as const;
