// Choice of experts.
#pragma once

#include <cstdint>

#include "dsi/thread_pool.h"

namespace dsi {

struct MoeRouteCall {
  const float* logits;  // [tokens, experts]
  const float* bias;    // [experts] or null
  int64_t tokens, experts, top_k;
  bool sigmoid;  // else softmax
  int64_t groups, top_groups;
  bool top2sum;  // group score: sum of the two best, else the best
  bool normalize;
  float scale;
  int32_t* ids;    // [tokens, top_k], every one in [0, experts) whatever the logits
  float* weights;  // [tokens, top_k]
};

void moe_route(const MoeRouteCall& call, ThreadPool& pool);

}  // namespace dsi
