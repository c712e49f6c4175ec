// ProductScratch and what the drivers do with it: quantised activations and product jobs over the pool.
#pragma once

#include <vector>

#include "packed_matrix.h"

namespace dsi {

namespace products {

// One product of m activation rows with one matrix.
struct Job {
  MatrixView w;
  ProductFn product;
  ActivationView x;
  int64_t rows;
  float* y;
  int64_t y_stride;
  const float* bias;
  // set by run_jobs
  int64_t groups_a_tile, row_tiles, rows_a_tile, first_tile;
};

// Buffers of one set of quantised activations.
struct ActivationBuffers {
  AlignedBuffer q[kActivationKinds], scales[kActivationKinds], scaled_sums[kActivationKinds], sums[kActivationKinds];
};

// Quantises m rows of k columns into `kind`; the view points into buffers (kF32: at x itself).
ActivationView quantize(ActivationKind kind, const float* x, int64_t x_stride, int64_t m, int64_t k, ActivationBuffers& buffers,
                        const KernelTable& kernels, ThreadPool& pool);

ProductFn product_of(const PackedMatrix& w, const KernelTable& kernels);

}  // namespace products

class ProductScratch {
 public:
  // Runs all jobs over one set of tiles.
  void run_jobs(ThreadPool& pool);

  std::vector<products::Job> jobs;
  products::ActivationBuffers activations, hidden_activations;
  products::AlignedBuffer permuted, gate, up, down, order;

 private:
  products::AlignedBuffer tiles_;
};

}  // namespace dsi
