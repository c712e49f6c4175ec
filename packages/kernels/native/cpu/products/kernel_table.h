// What the drivers (linear.cc, moe.cc, pack.cc) and the per-ISA kernels share: plain structs and one table of functions an ISA.
// Included by translation units of every instruction set: declarations only.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "formats.h"

namespace dsi::products {

constexpr int kLanes = 16;           // weight rows a row group
constexpr int kDepth = 256;          // columns of a tile that kernels keep in a worker's scratch
constexpr int kTileGroups = 4;       // row groups of a tile in the tiled path
constexpr int kTileRows = 256;       // most activation rows of one product() call
constexpr int kSkinnyRows = 8;       // up to here weights are unpacked in registers

// One matrix (a group) of a packed weight.
struct MatrixView {
  Format format;
  Layout layout;
  int64_t rows, cols;
  const uint8_t* data;
  size_t row_group_bytes;            // kDense, kVector
  size_t row_bytes;                  // kRows
  // F8: [ceil(rows / block_rows), scale_cols]; INT4_GROUP: [rows, scale_cols]
  const float* scales;
  const float* zeros;
  int64_t scale_cols, block_rows, block_cols;
};

enum class ActivationKind {
  kF32,
  kBF16,     // pairs for the bf16 dot product
  kBlock32,  // int8, a scale and a sum every 32 columns
  kSuper,    // int8, a scale every 256 columns, sums every 16 and 32
};
constexpr int kActivationKinds = 4;
constexpr int kPairWords = 12;  // of sums a super-block: 8 pairs of sums of 16, then 4 pairs of sums of 32

// Rows of activations in one kind. Row i of a product reads row index[i] (i when null).
// kBlock32: negated sums of q in `sums`, scale * sum of q in `scaled_sums`, one a block.
// kSuper: `sums` are int16 pairs of negated sums; in every four sums s0..s3 the pairs are (s0, s2), (s1, s3).
// A block with a NaN or an infinity has scale NaN and q = 0, so that its outputs are NaN.
struct ActivationView {
  const float* f32;
  int64_t f32_stride;
  const uint8_t* q;  // int8, or bf16
  int64_t q_stride;  // bytes
  const float* scales;
  const float* scaled_sums;
  int64_t block_stride;  // entries a row in scales and scaled_sums
  const int32_t* sums;
  int64_t sums_stride;
  const int32_t* index;
};

// One row's destination when quantising.
struct ActivationRow {
  uint8_t* q;
  float* scales;
  float* scaled_sums;
  int32_t* sums;
};

// Row groups [group0, group1) times activation rows [row0, row0 + rows), rows <= kTileRows. y[r * y_stride + n] of row row0 + r,
// with y pointing at output row row0.
struct ProductTile {
  int64_t group0, group1;
  int64_t row0, rows;
  float* y;
  int64_t y_stride;
  const float* bias;
};

// A worker's scratch, 64-byte aligned. Contents are meaningless between calls.
struct TileScratch {
  alignas(64) uint8_t codes[kTileGroups * kDepth * kLanes];
  alignas(64) uint8_t scales[kTileGroups * 32 * 64];
  alignas(64) float sums[kTileRows * kTileGroups * kLanes];
  alignas(64) float weights[kTileGroups * kDepth * kLanes];
  alignas(64) float rows[kLanes * kDepth];
};

using ProductFn = void (*)(const MatrixView& w, const ActivationView& x, const ProductTile& tile, TileScratch& scratch);

struct KernelTable {
  // Quantises one row of k columns, padded with zeros to the kind's block.
  void (*quantize_row)(ActivationKind kind, const float* x, int64_t k, const ActivationRow& out);
  // f32 products of any format, one FMA chain an output.
  ProductFn product_f32;
  // bf16 x bf16 products of BF16 weights, null where the ISA has none.
  ProductFn product_bf16;
  // int8 products by format, null where there is none.
  ProductFn product_int8[kFormatCount];
  // Dequantised columns [k0, k0 + kn) of row group g as [kn][16]; k0 a multiple of kDepth, kn <= kDepth. Rows past the end are zero.
  void (*dequantize)(const MatrixView& w, int64_t group, int64_t k0, int64_t kn, float* out, TileScratch& scratch);
  // h[i] = silu(gate[i]) * up[i]
  void (*silu_mul)(const float* gate, const float* up, int64_t n, float* h);
};

const KernelTable& generic_kernels();
const KernelTable& avx2_kernels();
const KernelTable& avx512_kernels();
// Of current_isa().
const KernelTable& current_kernels();

// Kind of activation that a format's fast product takes; kF32 where it has none of its own.
ActivationKind fast_kind(Format format, const KernelTable& kernels);

}  // namespace dsi::products
