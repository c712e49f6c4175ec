#include "cpu/ops/moe_route.h"

#include <vector>

#include "cpu/ops/parallel.h"
#include "cpu/ops/row_kernels.h"

namespace dsi {
namespace {

// The highest entry that is not taken, ties to the lowest index; a NaN loses to anything.
int64_t best_free(const float* values, const std::vector<char>& taken, int64_t n) {
  int64_t best = -1;
  for (int64_t i = 0; i < n; ++i) {
    if (taken[static_cast<size_t>(i)]) continue;
    if (best < 0 || values[i] > values[best] || (values[best] != values[best] && values[i] == values[i])) best = i;
  }
  return best;
}

float group_score(const float* choice, int64_t n, bool top2sum) {
  float first = choice[0], second = -__builtin_inff();
  for (int64_t i = 1; i < n; ++i) {
    if (choice[i] > first) {
      second = first;
      first = choice[i];
    } else if (choice[i] > second) {
      second = choice[i];
    }
  }
  return top2sum && n > 1 ? first + second : first;
}

struct Worker {
  std::vector<float> scores, choice, group_scores;
  std::vector<char> taken, group_taken;
};

void route_token(const MoeRouteCall& call, const RowKernels& kernels, Worker& w, int64_t t) {
  const int64_t e = call.experts, size = e / call.groups;
  w.scores.resize(static_cast<size_t>(e));
  w.choice.resize(static_cast<size_t>(e));
  (call.sigmoid ? kernels.sigmoid : kernels.softmax)(call.logits + t * e, w.scores.data(), e);
  for (int64_t i = 0; i < e; ++i) {
    w.choice[static_cast<size_t>(i)] = w.scores[static_cast<size_t>(i)] + (call.bias ? call.bias[i] : 0.0f);
  }
  w.taken.assign(static_cast<size_t>(e), 0);
  if (call.groups > 1) {
    w.group_scores.resize(static_cast<size_t>(call.groups));
    for (int64_t g = 0; g < call.groups; ++g) {
      w.group_scores[static_cast<size_t>(g)] = group_score(w.choice.data() + g * size, size, call.top2sum);
    }
    w.group_taken.assign(static_cast<size_t>(call.groups), 0);
    for (int64_t j = 0; j < call.top_groups; ++j) {
      w.group_taken[static_cast<size_t>(best_free(w.group_scores.data(), w.group_taken, call.groups))] = 1;
    }
    for (int64_t i = 0; i < e; ++i) w.taken[static_cast<size_t>(i)] = !w.group_taken[static_cast<size_t>(i / size)];
  }
  int32_t* ids = call.ids + t * call.top_k;
  float* weights = call.weights + t * call.top_k;
  float total = 0.0f;
  for (int64_t j = 0; j < call.top_k; ++j) {
    const int64_t best = best_free(w.choice.data(), w.taken, e);
    w.taken[static_cast<size_t>(best)] = 1;
    ids[j] = static_cast<int32_t>(best);
    weights[j] = w.scores[static_cast<size_t>(best)];
    total += weights[j];
  }
  for (int64_t j = 0; j < call.top_k; ++j) {
    if (call.normalize) weights[j] /= total + 1e-20f;
    weights[j] *= call.scale;
  }
}

}  // namespace

void moe_route(const MoeRouteCall& call, ThreadPool& pool) {
  const RowKernels& kernels = row_kernels();
  for_rows(pool, call.tokens, call.experts * (call.top_k + 8), [&](int64_t begin, int64_t end, int) {
    Worker worker;
    for (int64_t t = begin; t < end; ++t) route_token(call, kernels, worker, t);
  });
}

}  // namespace dsi
