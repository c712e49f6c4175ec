// bf16 x bf16 products (pairs of columns, f32 accumulation in ascending pairs) of BF16 weights. Included after a simd.h that has the
// instruction and product_int8.inl.h.
#pragma once

#include "product_int8.inl.h"

namespace {

template <int G, int M>
void bf16_tile(const uint8_t* weights, size_t group_bytes, const uint8_t* const* rows, int64_t pairs, float* sums) {
  Float acc[G][M];
  DSI_UNROLL
  for (int g = 0; g < G; ++g)
    DSI_UNROLL
    for (int m = 0; m < M; ++m) acc[g][m] = loadf(sums + (m * kTileGroups + g) * kLanes);
  const uint8_t* x[M];
  DSI_UNROLL
  for (int m = 0; m < M; ++m) x[m] = rows[m];
  for (int64_t k = 0; k < pairs; ++k) {
    Int w[G];
    DSI_UNROLL
    for (int g = 0; g < G; ++g) w[g] = load(weights + static_cast<size_t>(g) * group_bytes + 64 * k);
    DSI_UNROLL
    for (int m = 0; m < M; ++m) {
      const Int a = load1(x[m] + 4 * k);
      DSI_UNROLL
      for (int g = 0; g < G; ++g) acc[g][m] = dot_bf16(acc[g][m], w[g], a);
    }
  }
  DSI_UNROLL
  for (int g = 0; g < G; ++g)
    DSI_UNROLL
    for (int m = 0; m < M; ++m) storef(sums + (m * kTileGroups + g) * kLanes, acc[g][m]);
}

template <int G>
void bf16_rows(const uint8_t* weights, size_t group_bytes, const ActivationView& x, int64_t row0, int64_t rows, int64_t pair0,
               int64_t pairs, float* sums) {
  for (int64_t m = 0; m < rows;) {
    const uint8_t* p[6];
    const int64_t n = rows - m < 6 ? rows - m : 6;
    for (int64_t i = 0; i < n; ++i) p[i] = x.q + activation_row(x, row0 + m + i) * x.q_row + 4 * pair0;
    float* out = sums + m * kTileGroups * kLanes;
    switch (n) {
      case 6: bf16_tile<G, 6>(weights, group_bytes, p, pairs, out); break;
      case 5: bf16_tile<G, 5>(weights, group_bytes, p, pairs, out); break;
      case 4: bf16_tile<G, 4>(weights, group_bytes, p, pairs, out); break;
      case 3: bf16_tile<G, 3>(weights, group_bytes, p, pairs, out); break;
      case 2: bf16_tile<G, 2>(weights, group_bytes, p, pairs, out); break;
      default: bf16_tile<G, 1>(weights, group_bytes, p, pairs, out); break;
    }
    m += n;
  }
}

void product_bf16(const MatrixView& w, const ActivationView& x, const ProductTile& t, TileScratch& scratch) {
  constexpr int kStride = kTileGroups * kLanes;
  const int64_t pairs = (w.cols + 1) / 2;
  const int64_t depth = t.rows <= 6 ? pairs : 256;  // pairs a pass: with many rows the weights stay in the first cache levels
  for (int64_t g0 = t.group0; g0 < t.group1; g0 += 2) {
    const int groups = t.group1 - g0 < 2 ? 1 : 2;
    const uint8_t* weights = w.data + static_cast<size_t>(g0) * w.row_group_bytes;
    for (int64_t m = 0; m < t.rows; ++m)
      for (int i = 0; i < 2 * kLanes; ++i) scratch.sums[m * kStride + i] = 0.0f;
    for (int64_t k = 0; k < pairs; k += depth) {
      const int64_t n = pairs - k < depth ? pairs - k : depth;
      if (groups == 2) {
        bf16_rows<2>(weights + 64 * k, w.row_group_bytes, x, t.row0, t.rows, k, n, scratch.sums);
      } else {
        bf16_rows<1>(weights + 64 * k, w.row_group_bytes, x, t.row0, t.rows, k, n, scratch.sums);
      }
    }
    for (int64_t m = 0; m < t.rows; ++m)
      for (int g = 0; g < groups; ++g) {
        const int64_t n0 = (g0 + g) * kLanes;
        store_outputs(loadf(scratch.sums + m * kStride + g * kLanes), t.bias != nullptr ? t.bias + n0 : nullptr,
                      t.y + m * t.y_stride + n0, w.rows - n0);
      }
  }
}

}  // namespace
