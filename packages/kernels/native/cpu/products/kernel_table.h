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
constexpr int kScaleBytes = 31 * 64;  // a row group's unpacked scales in a tile
constexpr int kTileRows = 48;        // most activation rows of one product() call: their sums and a chunk of them stay in the first cache
constexpr int kPrefetchBytes = 4096;  // how far ahead weights are asked for
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
// The int8 kinds are stored by chunks of kDepth columns, each chunk all rows side by side, as the tiled path walks them: what belongs to
// row r and chunk c starts at r * (row stride) + c * (chunk stride). In a chunk a row has 256 int8 and
//   kBlock32: 8 scales, 8 `scaled_sums` (scale * sum of q), 8 `sums` (negated sums of q)
//   kSuper:   1 scale, kPairWords `sums`: int16 pairs of negated sums; in every four sums s0..s3 the pairs are (s0, s2), (s1, s3).
// A block with a NaN or an infinity has scale NaN and q = 0, so that its outputs are NaN.
struct ActivationView {
  const float* f32;
  int64_t f32_row;
  const uint8_t* q;  // int8, or bf16 (rows of one piece)
  int64_t q_row, q_chunk;  // bytes
  const float* scales;
  const float* scaled_sums;
  int64_t scale_row, scale_chunk;  // entries, of both
  const int32_t* sums;
  int64_t sums_row, sums_chunk;
  const int32_t* index;

  // The view whose row 0 is this one's row r.
  ActivationView from_row(int64_t r) const {
    ActivationView v = *this;
    v.f32 += r * f32_row;
    if (q != nullptr) v.q += r * q_row;
    if (scales != nullptr) v.scales += r * scale_row;
    if (scaled_sums != nullptr) v.scaled_sums += r * scale_row;
    if (sums != nullptr) v.sums += r * sums_row;
    return v;
  }
  // Every n-th row.
  ActivationView every(int64_t n) const {
    ActivationView v = *this;
    v.f32_row *= n;
    v.q_row *= n;
    v.scale_row *= n;
    v.sums_row *= n;
    return v;
  }
};

// Where one row goes when quantising.
struct ActivationRow {
  uint8_t* q;
  float* scales;
  float* scaled_sums;
  int32_t* sums;
  int64_t q_chunk, scale_chunk, sums_chunk;
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
  alignas(64) uint8_t scales[kTileGroups * kScaleBytes];
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
