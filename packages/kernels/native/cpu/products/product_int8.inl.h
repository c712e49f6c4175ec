// int8 products on vector_layout.h: the skinny path (codes unpacked in registers) and the tiled path (codes unpacked once into L1).
// Both do the same integer sums and the same chain of float FMAs an output, in ascending columns: equal bits. Included after a simd.h.
#pragma once

#include "kernel_table.h"
#include "vector_formats.inl.h"

namespace {

using dsi::products::ActivationView;
using dsi::products::kDepth;
using dsi::products::kLanes;
using dsi::products::kPrefetchBytes;
using dsi::products::kScaleBytes;
using dsi::products::kSkinnyRows;
using dsi::products::kTileGroups;
using dsi::products::MatrixView;
using dsi::products::ProductTile;
using dsi::products::TileScratch;

DSI_INLINE int64_t activation_row(const ActivationView& x, int64_t i) { return x.index != nullptr ? x.index[i] : i; }

// Where M activation rows are in a chunk.
template <int M>
struct Rows {
  const uint8_t* q[M];
  const float* scales[M];
  const float* scaled_sums[M];
  const int32_t* sums[M];

  DSI_INLINE Rows(const ActivationView& x, int64_t first, int64_t chunk) {
    DSI_UNROLL
    for (int m = 0; m < M; ++m) {
      const int64_t r = activation_row(x, first + m);
      q[m] = x.q + r * x.q_row + chunk * x.q_chunk;
      scales[m] = x.scales + r * x.scale_row + chunk * x.scale_chunk;
      scaled_sums[m] = x.scaled_sums + r * x.scale_row + chunk * x.scale_chunk;
      sums[m] = x.sums + r * x.sums_row + chunk * x.sums_chunk;
    }
  }
  DSI_INLINE void next_chunk(const ActivationView& x) {
    DSI_UNROLL
    for (int m = 0; m < M; ++m) {
      q[m] += x.q_chunk;
      scales[m] += x.scale_chunk;
      scaled_sums[m] += x.scale_chunk;
      sums[m] += x.sums_chunk;
    }
  }
};

// y[0 .. valid) = acc + bias
DSI_INLINE void store_outputs(Float acc, const float* bias, float* y, int64_t valid) {
  if (valid >= kLanes) {
    if (bias != nullptr) acc = addf(acc, loadf(bias));
    storef(y, acc);
    return;
  }
  float lanes[kLanes];
  storef(lanes, acc);
  for (int64_t i = 0; i < valid; ++i) y[i] = bias != nullptr ? lanes[i] + bias[i] : lanes[i];
}

template <Format F>
DSI_INLINE Int start_sum(const int32_t* sums, int64_t block) {
  if constexpr (VectorFormat<F>::kCorrected) {
    return shl<VectorFormat<F>::kBias>(load1(sums + block));
  } else {
    return zero();
  }
}

// Eight (or four) steps of one sub-block.
template <int kFirst, int kCount, class D>
DSI_INLINE void dot_steps(D& dot, const Int w[8], const uint8_t* q) {
  dot.step(w[kFirst], load1(q + 4 * kFirst));
  dot.template settle<kFirst>();
  if constexpr (kCount > 1) dot_steps<kFirst + 1, kCount - 1>(dot, w, q);
}

// Steps [kFirst, kFirst + kCount) of G row groups times M activation rows. Code vectors of the groups of a tile lie side by side, step by
// step: streams a multiple of 4 KiB apart would meet in one set of the first cache.
template <int kFirst, int kCount, int G, int M, class D>
DSI_INLINE void tile_steps(D (&dot)[G][M], const uint8_t* codes, const uint8_t* const (&q)[M], int64_t column) {
  Int w[G];
  DSI_UNROLL
  for (int g = 0; g < G; ++g) w[g] = load(codes + (kFirst * kTileGroups + g) * 64);
  DSI_UNROLL
  for (int m = 0; m < M; ++m) {
    const Int a = load1(q[m] + column + 4 * kFirst);
    DSI_UNROLL
    for (int g = 0; g < G; ++g) {
      dot[g][m].step(w[g], a);
      dot[g][m].template settle<kFirst>();
    }
  }
  if constexpr (kCount > 1) tile_steps<kFirst + 1, kCount - 1>(dot, codes, q, column);
}

// Asks for the bytes that a stream of weights comes to a few blocks later: hardware prefetch alone does not keep the bus busy.
template <int kBytes>
DSI_INLINE void prefetch_ahead(const uint8_t* p) {
  DSI_UNROLL
  for (int i = 0; i < kBytes; i += 64) __builtin_prefetch(p + kPrefetchBytes + i, 0, 3);
}

// ---- 32-column blocks ----

template <Format F, int M>
void skinny_block32(const uint8_t* codes, const uint8_t* meta, int64_t blocks, const ActivationView& x, int64_t row, float* y, int64_t y_stride,
                    const float* bias, int64_t valid) {
  using V = VectorFormat<F>;
  Rows<M> rows(x, row, 0);
  Float acc[M];
  DSI_UNROLL
  for (int m = 0; m < M; ++m) acc[m] = zerof();
  for (int64_t b = 0; b < blocks; ++b) {
    const int64_t i = b % 8;
    if (i == 0 && b != 0) rows.next_chunk(x);
    Int w[8];
    prefetch_ahead<V::kCodeBytes>(codes + b * V::kCodeBytes);
    V::unpack(codes + b * V::kCodeBytes, w);
    const Float d = V::scale(meta + b * V::kMetaBytes);
    DSI_UNROLL
    for (int m = 0; m < M; ++m) {
      Dot<V::kMax> dot;
      dot.begin(start_sum<F>(rows.sums[m], i));
      dot_steps<0, 8>(dot, w, rows.q[m] + 32 * i);
      acc[m] = fma(convert(dot.sum()), mulf(d, set1f(rows.scales[m][i])), acc[m]);
      if constexpr (V::kHasMin) acc[m] = fma(V::min(meta + b * V::kMetaBytes), set1f(rows.scaled_sums[m][i]), acc[m]);
    }
  }
  DSI_UNROLL
  for (int m = 0; m < M; ++m) store_outputs(acc[m], bias, y + m * y_stride, valid);
}

// Scratch of a tile: codes [columns / 4][groups][64 bytes], scales [groups][kScaleBytes].
template <Format F, int G, int M>
void tile_block32(const TileScratch& scratch, int group, int64_t chunk, int64_t blocks, const ActivationView& x, int64_t row,
                  float* sums) {
  using V = VectorFormat<F>;
  const Rows<M> rows(x, row, chunk);
  const uint8_t* codes = scratch.codes + group * 64;
  const uint8_t* scales = scratch.scales + group * kScaleBytes;
  Float acc[G][M];
  DSI_UNROLL
  for (int g = 0; g < G; ++g)
    DSI_UNROLL
    for (int m = 0; m < M; ++m) acc[g][m] = loadf(sums + (m * kTileGroups + group + g) * kLanes);
  for (int64_t i = 0; i < blocks; ++i) {
    Dot<V::kMax> dot[G][M];
    DSI_UNROLL
    for (int m = 0; m < M; ++m) {
      const Int start = start_sum<F>(rows.sums[m], i);
      DSI_UNROLL
      for (int g = 0; g < G; ++g) dot[g][m].begin(start);
    }
    tile_steps<0, 8>(dot, codes + i * 8 * kTileGroups * 64, rows.q, 32 * i);
    DSI_UNROLL
    for (int g = 0; g < G; ++g) {
      const Float d = as_float(load(scales + g * kScaleBytes + 64 * i));
      DSI_UNROLL
      for (int m = 0; m < M; ++m) {
        acc[g][m] = fma(convert(dot[g][m].sum()), mulf(d, set1f(rows.scales[m][i])), acc[g][m]);
        if constexpr (V::kHasMin)
          acc[g][m] = fma(as_float(load(scales + g * kScaleBytes + 512 + 64 * i)), set1f(rows.scaled_sums[m][i]), acc[g][m]);
      }
    }
  }
  DSI_UNROLL
  for (int g = 0; g < G; ++g)
    DSI_UNROLL
    for (int m = 0; m < M; ++m) storef(sums + (m * kTileGroups + group + g) * kLanes, acc[g][m]);
}

// ---- 256-column super-blocks ----

template <Format F, int M>
void skinny_super(const uint8_t* codes, const uint8_t* meta, int64_t blocks, const ActivationView& x, int64_t row, float* y, int64_t y_stride,
                  const float* bias, int64_t valid) {
  using V = VectorFormat<F>;
  Rows<M> rows(x, row, 0);
  Float acc[M];
  DSI_UNROLL
  for (int m = 0; m < M; ++m) acc[m] = zerof();
  for (int64_t b = 0; b < blocks; ++b) {
    if (b != 0) rows.next_chunk(x);
    const SuperScales<F> scales(meta + b * V::kMetaBytes);
    Int total[M];
    DSI_UNROLL
    for (int m = 0; m < M; ++m) total[m] = zero();
    for (int j = 0; j < 8; ++j) {
      Int w[8];
      prefetch_ahead<V::kCodeBytes32>(codes + b * V::kCodeBytes + j * V::kCodeBytes32);
      V::unpack(codes + b * V::kCodeBytes + j * V::kCodeBytes32, w);
      DSI_UNROLL
      for (int m = 0; m < M; ++m) {
        const uint8_t* q = rows.q[m] + 32 * j;
        if constexpr (V::kSub == 32) {
          Dot<V::kMax> dot;
          dot.begin(zero());
          dot_steps<0, 8>(dot, w, q);
          total[m] = add(total[m], mul(scales.sub[j], dot.sum()));
        } else {
          Dot<V::kMax> low, high;
          low.begin(zero());
          high.begin(zero());
          dot_steps<0, 4>(low, w, q);
          dot_steps<4, 4>(high, w, q);
          total[m] = add(total[m], mul(scales.sub[2 * j], low.sum()));
          total[m] = add(total[m], mul(scales.sub[2 * j + 1], high.sum()));
        }
      }
    }
    DSI_UNROLL
    for (int m = 0; m < M; ++m) {
      const Float da = set1f(rows.scales[m][0]);
      Int correction = zero();
      if constexpr (V::kHasMin || V::kCorrected)
        DSI_UNROLL
        for (int p = 0; p < V::kPairs; ++p)
          correction = dot_int16(correction, scales.pairs[p], load1(rows.sums[m] + V::kPairOffset + p));
      if constexpr (V::kCorrected) total[m] = add(total[m], shl<V::kBias>(correction));
      acc[m] = fma(convert(total[m]), mulf(scales.d, da), acc[m]);
      if constexpr (V::kHasMin) acc[m] = fma(convert(correction), mulf(scales.dmin, da), acc[m]);
    }
  }
  DSI_UNROLL
  for (int m = 0; m < M; ++m) store_outputs(acc[m], bias, y + m * y_stride, valid);
}

template <Format F, int G, int M>
void tile_super(const TileScratch& scratch, int group, int64_t chunk, int64_t, const ActivationView& x, int64_t row, float* sums) {
  using V = VectorFormat<F>;
  static_assert(sizeof(SuperScales<F>) <= kScaleBytes, "scratch");
  const Rows<M> rows(x, row, chunk);
  const uint8_t* codes = scratch.codes + group * 64;
  const SuperScales<F>* scales[G];
  DSI_UNROLL
  for (int g = 0; g < G; ++g) scales[g] = reinterpret_cast<const SuperScales<F>*>(scratch.scales + (group + g) * kScaleBytes);
  Int total[G][M];
  DSI_UNROLL
  for (int g = 0; g < G; ++g)
    DSI_UNROLL
    for (int m = 0; m < M; ++m) total[g][m] = zero();
  for (int sub = 0; sub < V::kSubs; ++sub) {
    Dot<V::kMax> dot[G][M];
    DSI_UNROLL
    for (int g = 0; g < G; ++g)
      DSI_UNROLL
      for (int m = 0; m < M; ++m) dot[g][m].begin(zero());
    const uint8_t* block = codes + sub * (V::kSub / 4) * kTileGroups * 64;
    const int64_t column = sub * V::kSub;
    tile_steps<0, V::kSub / 4>(dot, block, rows.q, column);
    DSI_UNROLL
    for (int g = 0; g < G; ++g)
      DSI_UNROLL
      for (int m = 0; m < M; ++m) total[g][m] = add(total[g][m], mul(scales[g]->sub[sub], dot[g][m].sum()));
  }
  DSI_UNROLL
  for (int m = 0; m < M; ++m) {
    const Float da = set1f(rows.scales[m][0]);
    DSI_UNROLL
    for (int g = 0; g < G; ++g) {
      float* out = sums + (m * kTileGroups + group + g) * kLanes;
      Int correction = zero();
      if constexpr (V::kHasMin || V::kCorrected)
        DSI_UNROLL
        for (int p = 0; p < V::kPairs; ++p)
          correction = dot_int16(correction, scales[g]->pairs[p], load1(rows.sums[m] + V::kPairOffset + p));
      if constexpr (V::kCorrected) total[g][m] = add(total[g][m], shl<V::kBias>(correction));
      Float acc = fma(convert(total[g][m]), mulf(scales[g]->d, da), loadf(out));
      if constexpr (V::kHasMin) acc = fma(convert(correction), mulf(scales[g]->dmin, da), acc);
      storef(out, acc);
    }
  }
}

// ---- drivers ----

template <Format F, int M>
DSI_INLINE void skinny_group(const MatrixView& w, int64_t group, int64_t row, const ActivationView& x, const ProductTile& t) {
  using V = VectorFormat<F>;
  const int64_t blocks = w.cols / V::kLayout.block, n0 = group * kLanes;
  const uint8_t* codes = w.data + static_cast<size_t>(group) * w.row_group_bytes;
  const uint8_t* meta = codes + blocks * V::kCodeBytes;
  const float* bias = t.bias != nullptr ? t.bias + n0 : nullptr;
  float* y = t.y + row * t.y_stride + n0;
  if constexpr (V::kLayout.block == 32) {
    skinny_block32<F, M>(codes, meta, blocks, x, t.row0 + row, y, t.y_stride, bias, w.rows - n0);
  } else {
    skinny_super<F, M>(codes, meta, blocks, x, t.row0 + row, y, t.y_stride, bias, w.rows - n0);
  }
}

// Any number of rows, a few at a time; later passes over a row group find its bytes in the cache.
template <Format F>
void product_skinny(const MatrixView& w, const ActivationView& x, const ProductTile& t) {
  for (int64_t g = t.group0; g < t.group1; ++g)
    for (int64_t m = 0; m < t.rows;) {
      const int64_t left = t.rows - m;
      if (kSkinnyStep >= 8 && left >= 8) {
        if constexpr (kSkinnyStep >= 8) skinny_group<F, 8>(w, g, m, x, t);
        m += 8;
      } else if (kSkinnyStep >= 4 && left >= 4) {
        if constexpr (kSkinnyStep >= 4) skinny_group<F, 4>(w, g, m, x, t);
        m += 4;
      } else if (kSkinnyStep >= 2 && left >= 2) {
        if constexpr (kSkinnyStep >= 2) skinny_group<F, 2>(w, g, m, x, t);
        m += 2;
      } else {
        skinny_group<F, 1>(w, g, m, x, t);
        m += 1;
      }
    }
}

template <Format F>
void unpack_group(const MatrixView& w, int64_t group, int64_t chunk, int64_t blocks32, int slot, TileScratch& scratch) {
  using V = VectorFormat<F>;
  const uint8_t* codes = w.data + static_cast<size_t>(group) * w.row_group_bytes;
  const uint8_t* meta = codes + (w.cols / V::kLayout.block) * V::kCodeBytes;
  uint8_t* out = scratch.codes + slot * 64;
  uint8_t* scales = scratch.scales + slot * kScaleBytes;
  for (int64_t i = 0; i < blocks32; ++i) {
    Int v[8];
    prefetch_ahead<V::kCodeBytes32>(codes + (chunk * (kDepth / 32) + i) * V::kCodeBytes32);
    V::unpack(codes + (chunk * (kDepth / 32) + i) * V::kCodeBytes32, v);
    for (int s = 0; s < 8; ++s) store(out + (i * 8 + s) * kTileGroups * 64, v[s]);
  }
  if constexpr (V::kLayout.block == 32) {
    for (int64_t i = 0; i < blocks32; ++i) {
      const uint8_t* m = meta + (chunk * (kDepth / 32) + i) * V::kMetaBytes;
      store(scales + 64 * i, as_int(V::scale(m)));
      if constexpr (V::kHasMin) store(scales + 512 + 64 * i, as_int(V::min(m)));
    }
  } else {
    const SuperScales<F> s(meta + chunk * V::kMetaBytes);
    memcpy(scales, &s, sizeof(s));
  }
}

template <Format F, int G, int M>
DSI_INLINE void tile_any(const TileScratch& scratch, int group, int64_t chunk, int64_t blocks, const ActivationView& x, int64_t row,
                         float* sums) {
  if constexpr (VectorFormat<F>::kLayout.block == 32) {
    tile_block32<F, G, M>(scratch, group, chunk, blocks, x, row, sums);
  } else {
    tile_super<F, G, M>(scratch, group, chunk, blocks, x, row, sums);
  }
}

template <Format F, int M>
void tile_groups(const TileScratch& scratch, int groups, int64_t chunk, int64_t blocks, const ActivationView& x, int64_t row,
                 float* sums) {
  int g = 0;
  for (; g + kInt8TileGroups <= groups; g += kInt8TileGroups)
    tile_any<F, kInt8TileGroups, M>(scratch, g, chunk, blocks, x, row, sums);
  if constexpr (kInt8TileGroups > 1)
    for (; g < groups; ++g) tile_any<F, 1, M>(scratch, g, chunk, blocks, x, row, sums);
}

template <Format F>
void product_tiled(const MatrixView& w, const ActivationView& x, const ProductTile& t, TileScratch& scratch) {
  constexpr int kStride = kTileGroups * kLanes;
  const int64_t blocks = w.cols / 32;
  for (int64_t g0 = t.group0; g0 < t.group1; g0 += kTileGroups) {
    const int groups = static_cast<int>(t.group1 - g0 < kTileGroups ? t.group1 - g0 : kTileGroups);
    for (int64_t i = 0; i < t.rows * kStride; ++i) scratch.sums[i] = 0.0f;
    for (int64_t chunk = 0; chunk * (kDepth / 32) < blocks; ++chunk) {
      const int64_t rest = blocks - chunk * (kDepth / 32), n = rest < kDepth / 32 ? rest : kDepth / 32;
      for (int g = 0; g < groups; ++g) unpack_group<F>(w, g0 + g, chunk, n, g, scratch);
      constexpr int kRows = VectorFormat<F>::kLayout.block == 32 ? kInt8TileRows : kSuperTileRows;
      for (int64_t m = 0; m < t.rows;) {
        float* sums = scratch.sums + m * kStride;
        if (t.rows - m >= kRows) {
          tile_groups<F, kRows>(scratch, groups, chunk, n, x, t.row0 + m, sums);
          m += kRows;
        } else if (t.rows - m >= 2) {
          tile_groups<F, 2>(scratch, groups, chunk, n, x, t.row0 + m, sums);
          m += 2;
        } else {
          tile_groups<F, 1>(scratch, groups, chunk, n, x, t.row0 + m, sums);
          m += 1;
        }
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

template <Format F>
void product_vector(const MatrixView& w, const ActivationView& x, const ProductTile& t, TileScratch& scratch) {
  if constexpr (kTiledInt8) {
    if (t.rows > kSkinnyRows) return product_tiled<F>(w, x, t, scratch);
  }
  product_skinny<F>(w, x, t);
}

}  // namespace
