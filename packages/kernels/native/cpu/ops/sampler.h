// The sampler chain, the Gumbel-max draw and log-probabilities: see src/sampling.ts for the parameters and docs/numerics for the order.
#pragma once

#include <cstdint>

#include "dsi/thread_pool.h"

namespace dsi {

constexpr int kSampleColumns = 16;

// Column numbers: src/sampling.ts.
enum SampleF32 {
  kTemperature,
  kTopP,
  kMinP,
  kTypicalP,
  kRepetitionPenalty,
  kFrequencyPenalty,
  kPresencePenalty,
  kTopNSigma,
  kXtcProbability,
  kXtcThreshold,
};
enum SampleI32 { kTopK, kSeedLow, kSeedHigh, kChoice, kIndex, kLogprobs, kProcessedLogprobs };
enum SampleStatus : int32_t { kSampleOk = 0, kSampleNonFinite = 1, kSampleNoCandidate = 2 };

struct SampleCall {
  const float* logits;  // [rows, vocabulary], left as they are
  int64_t rows, vocabulary, top_logprobs;
  const float* params_f32;    // [rows, kSampleColumns]
  const int32_t* params_i32;  // [rows, kSampleColumns]
  const int32_t *penalty_starts, *penalty_ids, *penalty_counts;
  const int32_t *bias_starts, *bias_ids;
  const float* bias_values;
  int32_t* tokens;         // [rows]; -1 where status is not ok
  int32_t* status;         // [rows]
  float* logprobs;         // [rows]; 0 where not asked for
  int32_t* top_ids;        // [rows, top_logprobs]; -1 where there are fewer
  float* top_logprob_values;  // [rows, top_logprobs]; 0 there
};

void sample(const SampleCall& call, ThreadPool& pool);

}  // namespace dsi
