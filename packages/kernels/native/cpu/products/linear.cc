// linear, head_linear and gather_packed_rows.
#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>

#include "product_scratch.h"

namespace dsi {

using namespace products;

void linear(const float* x, int64_t x_stride, int64_t m, const LinearOutput* outputs, int count, ProductScratch& scratch,
            ThreadPool& pool) {
  if (m == 0 || count == 0) return;
  const KernelTable& kernels = current_kernels();
  const int64_t cols = outputs[0].weight->cols();
  ActivationView views[kActivationKinds];
  bool made[kActivationKinds] = {};
  scratch.jobs.clear();
  const auto job = [&](const LinearOutput& o, const ActivationView& view) {
    const PackedMatrix& w = as_matrix(*o.weight);
    scratch.jobs.push_back({w.view(0), product_of(w, kernels), view, m, o.y, o.y_stride, o.bias, 0, 0, 0, 0});
  };
  for (int i = 0; i < count; ++i) {
    const PackedMatrix& w = as_matrix(*outputs[i].weight);
    if (w.cols() != cols)
      throw std::invalid_argument("linear: weights must share their columns, got " + std::to_string(cols) + " and " +
                                  std::to_string(w.cols()));
    if (w.perm() != nullptr) continue;
    const ActivationKind kind = w.kind(kernels);
    const int k = static_cast<int>(kind);
    if (!made[k]) {
      views[k] = quantize(kind, x, x_stride, m, cols, scratch.activations, kernels, pool);
      made[k] = true;
    }
    job(outputs[i], views[k]);
  }
  scratch.run_jobs(pool);
  // Weights in activation order: each its own permutation of x.
  for (int i = 0; i < count; ++i) {
    const PackedMatrix& w = as_matrix(*outputs[i].weight);
    if (w.perm() == nullptr) continue;
    float* permuted = scratch.permuted.array<float>(static_cast<size_t>(m * cols));
    pool.run(m, [&](int64_t r, int) {
      for (int64_t j = 0; j < cols; ++j) permuted[r * cols + j] = x[r * x_stride + w.perm()[j]];
    });
    scratch.jobs.clear();
    job(outputs[i], quantize(w.kind(kernels), permuted, cols, m, cols, scratch.activations, kernels, pool));
    scratch.run_jobs(pool);
  }
}

void head_linear(const float* x, int64_t m, const PackedWeight& weight, float* y, ProductScratch& scratch, ThreadPool& pool) {
  if (m == 0) return;
  const PackedMatrix& w = as_matrix(weight);
  const KernelTable& kernels = current_kernels();
  const int64_t heads = w.groups(), rows = w.rows(), cols = w.cols();
  if (w.perm() != nullptr) {
    float* permuted = scratch.permuted.array<float>(static_cast<size_t>(m * heads * cols));
    pool.run(m * heads, [&](int64_t r, int) {
      for (int64_t j = 0; j < cols; ++j) permuted[r * cols + j] = x[r * cols + w.perm()[j]];
    });
    x = permuted;
  }
  const ActivationView all = quantize(w.kind(kernels), x, cols, m * heads, cols, scratch.activations, kernels, pool);
  scratch.jobs.clear();
  for (int64_t h = 0; h < heads; ++h) {
    const ActivationView v = all.from_row(h).every(heads);  // rows h, h + heads, h + 2 heads, ...
    scratch.jobs.push_back({w.view(h), product_of(w, kernels), v, m, y + h * rows, heads * rows, nullptr, 0, 0, 0, 0});
  }
  scratch.run_jobs(pool);
}

void gather_packed_rows(const PackedWeight& weight, const int32_t* ids, int64_t count, float* out, int64_t out_stride, ThreadPool& pool) {
  const PackedMatrix& w = as_matrix(weight);
  for (int64_t i = 0; i < count; ++i)
    if (ids[i] < 0 || ids[i] >= w.rows())
      throw std::out_of_range("gather_packed_rows: row " + std::to_string(ids[i]) + " at " + std::to_string(i) +
                              " is outside [0, " + std::to_string(w.rows()) + ")");
  const KernelTable& kernels = current_kernels();
  pool.run(count, [&](int64_t i, int) {
    static thread_local const std::unique_ptr<TileScratch> tile_scratch(new TileScratch);
    TileScratch& scratch = *tile_scratch;
    MatrixView v = w.view(0);
    int64_t group = ids[i] / kLanes, lane = ids[i] % kLanes;
    if (v.layout == Layout::kRows) {  // only this row
      v.data += static_cast<size_t>(ids[i]) * v.row_bytes;
      const int64_t scale_row = ids[i] / v.block_rows * v.scale_cols;
      if (v.scales != nullptr) v.scales += scale_row;
      if (v.zeros != nullptr) v.zeros += scale_row;
      v.rows = 1;
      group = lane = 0;
    }
    float* row = out + i * out_stride;
    for (int64_t k0 = 0; k0 < v.cols; k0 += kDepth) {
      const int64_t kn = std::min<int64_t>(kDepth, v.cols - k0);
      kernels.dequantize(v, group, k0, kn, scratch.weights, scratch);
      for (int64_t k = 0; k < kn; ++k) row[w.perm() != nullptr ? w.perm()[k0 + k] : k0 + k] = scratch.weights[k * kLanes + lane];
    }
  });
}

}  // namespace dsi
