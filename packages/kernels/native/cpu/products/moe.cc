// moe_mlp: tokens sorted by expert, three passes (gate and up, SiLU and quantisation, down), then each token's sum in the order of its ids.
#include <algorithm>
#include <stdexcept>
#include <string>

#include "product_scratch.h"

namespace dsi {

using namespace products;

namespace {

// Rows of x of one expert's tokens: index = their token numbers.
ActivationView with_index(const ActivationView& v, const int32_t* index) {
  ActivationView out = v;
  out.index = index;
  return out;
}

void check(const PackedMatrix& gate, const PackedMatrix& up, const PackedMatrix& down) {
  const bool ok = gate.groups() == up.groups() && gate.groups() == down.groups() && gate.rows() == up.rows() &&
                  gate.cols() == up.cols() && gate.rows() == down.cols() && gate.cols() == down.rows();
  if (ok && gate.perm() == nullptr && up.perm() == nullptr && down.perm() == nullptr) return;
  const auto shape = [](const PackedMatrix& w) {
    return "[" + std::to_string(w.groups()) + ", " + std::to_string(w.rows()) + ", " + std::to_string(w.cols()) + "]";
  };
  throw std::invalid_argument("moe_mlp: gate [E, I, D], up [E, I, D], down [E, D, I] without activation order, got " + shape(gate) + ", " +
                              shape(up) + ", " + shape(down));
}

}  // namespace

void moe_mlp(const float* x, int64_t m, int64_t top_k, const int32_t* ids, const float* w, const PackedWeight& gate_weight,
             const PackedWeight& up_weight, const PackedWeight& down_weight, float* y, ProductScratch& scratch, ThreadPool& pool) {
  if (m == 0) return;
  const PackedMatrix &gate = as_matrix(gate_weight), &up = as_matrix(up_weight), &down = as_matrix(down_weight);
  check(gate, up, down);
  const KernelTable& kernels = current_kernels();
  const int64_t experts = gate.groups(), inner = gate.rows(), width = gate.cols(), pairs = m * top_k;

  // Counting sort of the (token, choice) pairs by expert: starts[e] .. starts[e + 1] of `tokens`; position[pair] = its place there.
  int32_t* starts = scratch.order.array<int32_t>(static_cast<size_t>(experts + 1 + 2 * pairs));
  int32_t *tokens = starts + experts + 1, *position = tokens + pairs;
  std::fill(starts, starts + experts + 1, 0);
  for (int64_t p = 0; p < pairs; ++p) {
    if (ids[p] < 0 || ids[p] >= experts)
      throw std::out_of_range("moe_mlp: expert " + std::to_string(ids[p]) + " of token " + std::to_string(p / top_k) +
                              " is outside [0, " + std::to_string(experts) + ")");
    ++starts[ids[p] + 1];
  }
  for (int64_t e = 0; e < experts; ++e) starts[e + 1] += starts[e];
  for (int64_t p = 0; p < pairs; ++p) {
    const int32_t place = starts[ids[p]]++;
    position[p] = place;
    tokens[place] = static_cast<int32_t>(p / top_k);
  }
  for (int64_t e = experts; e > 0; --e) starts[e] = starts[e - 1];
  starts[0] = 0;

  float* gate_out = scratch.gate.array<float>(static_cast<size_t>(pairs * inner));
  float* up_out = scratch.up.array<float>(static_cast<size_t>(pairs * inner));
  float* down_out = scratch.down.array<float>(static_cast<size_t>(pairs * width));

  const ActivationKind gate_kind = gate.kind(kernels), up_kind = up.kind(kernels);
  const ActivationView gate_x = quantize(gate_kind, x, width, m, width, scratch.activations, kernels, pool);
  const ActivationView up_x =
      up_kind == gate_kind ? gate_x : quantize(up_kind, x, width, m, width, scratch.activations, kernels, pool);
  scratch.jobs.clear();
  for (int64_t e = 0; e < experts; ++e) {
    const int64_t first = starts[e], rows = starts[e + 1] - first;
    if (rows == 0) continue;
    scratch.jobs.push_back({gate.view(e), product_of(gate, kernels), with_index(gate_x, tokens + first), rows, gate_out + first * inner,
                            inner, nullptr, 0, 0, 0, 0});
    scratch.jobs.push_back({up.view(e), product_of(up, kernels), with_index(up_x, tokens + first), rows, up_out + first * inner, inner,
                            nullptr, 0, 0, 0, 0});
  }
  scratch.run_jobs(pool);

  if (pairs * inner < 32 * 1024) {
    kernels.silu_mul(gate_out, up_out, pairs * inner, gate_out);
  } else {
    pool.run(pairs, [&](int64_t p, int) { kernels.silu_mul(gate_out + p * inner, up_out + p * inner, inner, gate_out + p * inner); });
  }
  const ActivationView hidden = quantize(down.kind(kernels), gate_out, inner, pairs, inner, scratch.hidden_activations, kernels, pool);
  scratch.jobs.clear();
  for (int64_t e = 0; e < experts; ++e) {
    const int64_t first = starts[e], rows = starts[e + 1] - first;
    if (rows == 0) continue;
    scratch.jobs.push_back({down.view(e), product_of(down, kernels), hidden.from_row(first), rows, down_out + first * width, width,
                            nullptr, 0, 0, 0, 0});
  }
  scratch.run_jobs(pool);

  const auto combine = [&](int64_t t) {
    float* out = y + t * width;
    std::fill(out, out + width, 0.0f);
    for (int64_t j = 0; j < top_k; ++j) {
      const float factor = w[t * top_k + j];
      const float* row = down_out + position[t * top_k + j] * width;
      for (int64_t i = 0; i < width; ++i) out[i] += factor * row[i];
    }
  };
  if (pairs * width < 32 * 1024) {
    for (int64_t t = 0; t < m; ++t) combine(t);
  } else {
    pool.run(m, [&](int64_t t, int) { combine(t); });
  }
}

}  // namespace dsi
