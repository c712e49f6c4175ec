// Matrix products on packed weights: the interface between the executor (caller) and the kernels (native/cpu/products).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "dsi/thread_pool.h"

namespace dsi {

enum class Numerics { kExact, kFast };

// Same order as WeightFormat in src/weights.ts.
enum class Format {
  kF32, kF16, kBF16,
  kQ4_0, kQ4_1, kQ5_0, kQ5_1, kQ8_0,
  kQ2_K, kQ3_K, kQ4_K, kQ5_K, kQ6_K,
  kIQ1_S, kIQ1_M, kIQ2_XXS, kIQ2_XS, kIQ2_S, kIQ3_XXS, kIQ3_S, kIQ4_NL, kIQ4_XS,
  kTQ1_0, kTQ2_0, kMXFP4, kNVFP4,
  kF8_E4M3, kF8_E5M2,
  kINT4_GROUP,
};

// A contiguous piece of a weight along its outermost axis, in memory (often a file mapping).
struct Bytes {
  const uint8_t* data;
  size_t size;
};

// A checkpoint weight [groups, rows, cols] (groups = 1 for a plain matrix), cols innermost, as src/weights.ts describes it.
struct WeightSource {
  Format format;
  int64_t groups, rows, cols;
  std::vector<Bytes> data;  // concatenated in order = all groups; a part holds whole rows
  // F8: f32 scales a group, [ceil(rows/block_rows), ceil(cols/block_cols)]
  std::vector<Bytes> block_scales;
  int64_t block_rows = 0, block_cols = 0;
  // INT4_GROUP: f32 [rows, cols/group_size] each; perm (cols entries) or null
  std::vector<Bytes> scales, zeros;
  int64_t group_size = 0;
  const int32_t* perm = nullptr;
  // Called with (data, size) when a source range is no longer needed, so that its pages can be dropped. May be null.
  void (*release)(void* context, const uint8_t* data, size_t size) = nullptr;
  void* release_context = nullptr;
};

// Weights in a kernel's own layout. Immutable after packing.
class PackedWeight {
 public:
  virtual ~PackedWeight() = default;
  virtual int64_t groups() const = 0;
  virtual int64_t rows() const = 0;
  virtual int64_t cols() const = 0;
  virtual size_t bytes() const = 0;  // resident bytes owned (or mapped) by this object
};

struct PackOptions {
  Numerics numerics;
  bool force_f32 = false;  // products stay f32 (routers) even in fast numerics
};

// Packs in parallel on the pool, releasing source ranges as it goes. The source's memory may be unmapped afterwards.
// Throws std::invalid_argument when the sizes do not agree (message names expected and actual bytes).
std::unique_ptr<PackedWeight> pack_weight(const WeightSource& source, const PackOptions& options, ThreadPool& pool);

// out[i] = dequantised row ids[i] of group 0 (f32), from the packed layout; exactly the values of the checkpoint format.
void gather_packed_rows(const PackedWeight& weight, const int32_t* ids, int64_t count, float* out, int64_t out_stride, ThreadPool& pool);

// Scratch memory that the caller owns and that grows on demand (quantised activations, dequantised tiles). One per executor.
class ProductScratch;
std::unique_ptr<ProductScratch, void (*)(ProductScratch*)> make_product_scratch();

struct LinearOutput {
  const PackedWeight* weight;  // [1, rows, cols]
  const float* bias;           // [rows] or null
  float* y;                    // [m, rows] at y + r * y_stride
  int64_t y_stride;
};

// y_i[r] = x[r] . W_i^T + bias_i for m rows; all weights share cols and ONE quantisation of x. Any m, any thread count: equal bits a row.
void linear(const float* x, int64_t x_stride, int64_t m, const LinearOutput* outputs, int count, ProductScratch& scratch, ThreadPool& pool);

// y[t, h] = x[t, h] . W[h]^T, W [heads, rows, cols]; x [m, heads, cols], y [m, heads, rows], contiguous.
void head_linear(const float* x, int64_t m, const PackedWeight& weight, float* y, ProductScratch& scratch, ThreadPool& pool);

// y[t] = sum_j w[t, j] * down[e](silu(gate[e] x[t]) * (up[e] x[t])), e = ids[t, j] in [0, groups). Each expert's weights are read once a call.
void moe_mlp(const float* x, int64_t m, int64_t top_k, const int32_t* ids, const float* w, const PackedWeight& gate,
             const PackedWeight& up, const PackedWeight& down, float* y, ProductScratch& scratch, ThreadPool& pool);

}  // namespace dsi
