// Dequantised tiles and f32 products of every format: lanes over weight rows, one FMA chain an output in ascending columns, whatever
// the number of rows. Included after a simd.h and product_int8.inl.h.
#pragma once

#include "decode_blocks.inl.h"
#include "decode_iq.inl.h"
#include "product_int8.inl.h"

namespace {

using dsi::products::Layout;

template <float (*kValue)(uint8_t)>
void decode_f8(const uint8_t* p, int64_t k0, int64_t kn, const float* scales, int64_t block_cols, float* y) {
  for (int64_t k = 0; k < kn;) {
    const float scale = scales[(k0 + k) / block_cols];
    const int64_t end = (k0 + k) / block_cols * block_cols + block_cols - k0, stop = end < kn ? end : kn;
    for (; k < stop; ++k) y[k] = kValue(p[k0 + k]) * scale;
  }
}

void decode_int4_group(const uint8_t* p, int64_t k0, int64_t kn, const float* scales, const float* zeros, int64_t group_size, float* y) {
  for (int64_t k = 0; k < kn;) {
    const int64_t group = (k0 + k) / group_size, end = (group + 1) * group_size - k0, stop = end < kn ? end : kn;
    const float scale = scales[group], zero = zeros[group];
    if ((k0 + k) & 1) {  // a group of odd size begins inside a byte
      y[k] = (static_cast<float>(p[(k0 + k) >> 1] >> 4) - zero) * scale;
      ++k;
    }
    const uint8_t* q = p + ((k0 + k) >> 1);
    const int64_t pairs = (stop - k) / 2;
    for (int64_t i = 0; i < pairs; ++i) {
      y[k + 2 * i] = (static_cast<float>(q[i] & 15) - zero) * scale;
      y[k + 2 * i + 1] = (static_cast<float>(q[i] >> 4) - zero) * scale;
    }
    if ((stop - k) & 1) y[stop - 1] = (static_cast<float>(q[pairs] & 15) - zero) * scale;
    k = stop;
  }
}

// Columns [k0, k0 + kn) of one row in the file's layout; k0 at a block border.
void decode_row(const MatrixView& w, int64_t row, int64_t k0, int64_t kn, float* y) {
  const auto& info = dsi::products::format_info(w.format);
  const uint8_t* start = w.data + static_cast<size_t>(row) * w.row_bytes;
  const uint8_t* p = start + k0 / info.block_elements * info.block_bytes;
  switch (w.format) {
    case Format::kIQ1_S: return decode_iq1_s(p, kn, y);
    case Format::kIQ1_M: return decode_iq1_m(p, kn, y);
    case Format::kIQ2_XXS: return decode_iq2_xxs(p, kn, y);
    case Format::kIQ2_XS: return decode_iq2_xs(p, kn, y);
    case Format::kIQ2_S: return decode_iq2_s(p, kn, y);
    case Format::kIQ3_XXS: return decode_iq3_xxs(p, kn, y);
    case Format::kIQ3_S: return decode_iq3_s(p, kn, y);
    case Format::kTQ1_0: return decode_tq1_0(p, kn, y);
    case Format::kTQ2_0: return decode_tq2_0(p, kn, y);
    case Format::kNVFP4: return decode_nvfp4(p, kn, y);
    case Format::kF8_E4M3: return decode_f8<e4m3_to_float>(start, k0, kn, w.scales + row / w.block_rows * w.scale_cols, w.block_cols, y);
    case Format::kF8_E5M2: return decode_f8<e5m2_to_float>(start, k0, kn, w.scales + row / w.block_rows * w.scale_cols, w.block_cols, y);
    case Format::kINT4_GROUP:
      return decode_int4_group(start, k0, kn, w.scales + row * w.scale_cols, w.zeros + row * w.scale_cols, w.block_cols, y);
    default: return;  // the other formats are not kept as rows
  }
}

template <Format F>
void dequantize_vector(const MatrixView& w, int64_t group, int64_t k0, int64_t kn, float* out) {
  using V = VectorFormat<F>;
  const int64_t blocks = w.cols / V::kLayout.block;
  const uint8_t* codes = w.data + static_cast<size_t>(group) * w.row_group_bytes;
  const uint8_t* meta = codes + blocks * V::kCodeBytes;
  for (int64_t k = 0; k < kn; k += V::kLayout.block) {
    const int64_t b = (k0 + k) / V::kLayout.block;
    dequantize_block<F>(codes + b * V::kCodeBytes, meta + b * V::kMetaBytes, out + k * kLanes);
  }
}

void dequantize_rows(const MatrixView& w, int64_t group, int64_t k0, int64_t kn, float* out, TileScratch& scratch) {
  const int64_t padded = (kn + 15) / 16 * 16;
  for (int r = 0; r < kLanes; ++r) {
    float* row = scratch.rows + r * kDepth;
    const int64_t n = group * kLanes + r;
    int64_t done = 0;
    if (n < w.rows) {
      decode_row(w, n, k0, kn, row);
      done = kn;
    }
    for (; done < padded; ++done) row[done] = 0.0f;
  }
  for (int64_t k = 0; k < padded; k += 16) transpose16(scratch.rows + k, kDepth, out + k * kLanes);
}

void dequantize(const MatrixView& w, int64_t group, int64_t k0, int64_t kn, float* out, TileScratch& scratch) {
  const uint8_t* p = w.data + static_cast<size_t>(group) * w.row_group_bytes;
  switch (w.format) {
    case Format::kF32:
      memcpy(out, p + k0 * kLanes * 4, static_cast<size_t>(kn) * kLanes * 4);
      return;
    case Format::kF16:
      for (int64_t k = 0; k < kn; ++k) storef(out + k * kLanes, load_halves(p + (k0 + k) * kLanes * 2));
      return;
    case Format::kBF16:
      for (int64_t k = 0; k < kn; k += 2) {  // kDepth is even, so is k0
        const Int pair = load(p + (k0 + k) * kLanes * 2);
        storef(out + k * kLanes, as_float(shl<16>(pair)));
        if (k + 1 < kn) storef(out + (k + 1) * kLanes, as_float(band(pair, set1(static_cast<int32_t>(0xffff0000u)))));
      }
      return;
    case Format::kQ4_0: return dequantize_vector<Format::kQ4_0>(w, group, k0, kn, out);
    case Format::kQ4_1: return dequantize_vector<Format::kQ4_1>(w, group, k0, kn, out);
    case Format::kQ5_0: return dequantize_vector<Format::kQ5_0>(w, group, k0, kn, out);
    case Format::kQ5_1: return dequantize_vector<Format::kQ5_1>(w, group, k0, kn, out);
    case Format::kQ8_0: return dequantize_vector<Format::kQ8_0>(w, group, k0, kn, out);
    case Format::kIQ4_NL: return dequantize_vector<Format::kIQ4_NL>(w, group, k0, kn, out);
    case Format::kMXFP4: return dequantize_vector<Format::kMXFP4>(w, group, k0, kn, out);
    case Format::kQ2_K: return dequantize_vector<Format::kQ2_K>(w, group, k0, kn, out);
    case Format::kQ3_K: return dequantize_vector<Format::kQ3_K>(w, group, k0, kn, out);
    case Format::kQ4_K: return dequantize_vector<Format::kQ4_K>(w, group, k0, kn, out);
    case Format::kQ5_K: return dequantize_vector<Format::kQ5_K>(w, group, k0, kn, out);
    case Format::kQ6_K: return dequantize_vector<Format::kQ6_K>(w, group, k0, kn, out);
    case Format::kIQ4_XS: return dequantize_vector<Format::kIQ4_XS>(w, group, k0, kn, out);
    default: return dequantize_rows(w, group, k0, kn, out, scratch);
  }
}

// Column k of a row group of dense weights.
template <Format F>
DSI_INLINE Float dense_column(const uint8_t* p, int64_t k) {
  if constexpr (F == Format::kF32) {
    return loadf(reinterpret_cast<const float*>(p + k * kLanes * 4));
  } else if constexpr (F == Format::kF16) {
    return load_halves(p + k * kLanes * 2);
  } else {
    const Int pair = load(p + k / 2 * kLanes * 4);
    return as_float(k % 2 == 0 ? shl<16>(pair) : band(pair, set1(static_cast<int32_t>(0xffff0000u))));
  }
}

// Few rows times dense weights, read where they are.
template <Format F, int M>
void dense_rows(const MatrixView& w, const ActivationView& x, const ProductTile& t, int64_t row) {
  const float* p[M];
  DSI_UNROLL
  for (int m = 0; m < M; ++m) p[m] = x.f32 + activation_row(x, t.row0 + row + m) * x.f32_row;
  float* y = t.y + row * t.y_stride;
  int64_t g = t.group0;
  const auto finish = [&](int64_t group, int m, Float acc) {
    const int64_t n0 = group * kLanes;
    store_outputs(acc, t.bias != nullptr ? t.bias + n0 : nullptr, y + m * t.y_stride + n0, w.rows - n0);
  };
  for (; g + 2 <= t.group1; g += 2) {  // two chains a row
    const uint8_t *a = w.data + static_cast<size_t>(g) * w.row_group_bytes, *b = a + w.row_group_bytes;
    Float sum_a[M], sum_b[M];
    DSI_UNROLL
    for (int m = 0; m < M; ++m) sum_a[m] = sum_b[m] = zerof();
    for (int64_t k = 0; k < w.cols; ++k) {
      const Float wa = dense_column<F>(a, k), wb = dense_column<F>(b, k);
      DSI_UNROLL
      for (int m = 0; m < M; ++m) {
        const Float v = set1f(p[m][k]);
        sum_a[m] = fma(wa, v, sum_a[m]);
        sum_b[m] = fma(wb, v, sum_b[m]);
      }
    }
    DSI_UNROLL
    for (int m = 0; m < M; ++m) {
      finish(g, m, sum_a[m]);
      finish(g + 1, m, sum_b[m]);
    }
  }
  for (; g < t.group1; ++g) {
    const uint8_t* a = w.data + static_cast<size_t>(g) * w.row_group_bytes;
    Float sum[M];
    DSI_UNROLL
    for (int m = 0; m < M; ++m) sum[m] = zerof();
    for (int64_t k = 0; k < w.cols; ++k) {
      const Float wa = dense_column<F>(a, k);
      DSI_UNROLL
      for (int m = 0; m < M; ++m) sum[m] = fma(wa, set1f(p[m][k]), sum[m]);
    }
    DSI_UNROLL
    for (int m = 0; m < M; ++m) finish(g, m, sum[m]);
  }
}

template <Format F>
void dense_product(const MatrixView& w, const ActivationView& x, const ProductTile& t) {
  switch (t.rows) {
    case 1: return dense_rows<F, 1>(w, x, t, 0);
    case 2: return dense_rows<F, 2>(w, x, t, 0);
    case 3:
      dense_rows<F, 2>(w, x, t, 0);
      return dense_rows<F, 1>(w, x, t, 2);
    case 4: return dense_rows<F, 4>(w, x, t, 0);
    default: return;
  }
}

// G tiles of [kn][16] weights (tile_stride floats apart) times M rows of x, added to sums [m][kTileGroups][16].
template <int G, int M>
void f32_tile(const float* tiles, int64_t tile_stride, const float* const* rows, int64_t kn, float* sums) {
  Float acc[G][M];
  DSI_UNROLL
  for (int g = 0; g < G; ++g)
    DSI_UNROLL
    for (int m = 0; m < M; ++m) acc[g][m] = loadf(sums + (m * kTileGroups + g) * kLanes);
  const float* x[M];
  DSI_UNROLL
  for (int m = 0; m < M; ++m) x[m] = rows[m];
  for (int64_t k = 0; k < kn; ++k) {
    Float w[G];
    DSI_UNROLL
    for (int g = 0; g < G; ++g) w[g] = loadf(tiles + g * tile_stride + k * kLanes);
    DSI_UNROLL
    for (int m = 0; m < M; ++m) {
      const Float a = set1f(x[m][k]);
      DSI_UNROLL
      for (int g = 0; g < G; ++g) acc[g][m] = fma(w[g], a, acc[g][m]);
    }
  }
  DSI_UNROLL
  for (int g = 0; g < G; ++g)
    DSI_UNROLL
    for (int m = 0; m < M; ++m) storef(sums + (m * kTileGroups + g) * kLanes, acc[g][m]);
}

template <int G>
void f32_rows(const float* tiles, int64_t tile_stride, const ActivationView& x, int64_t row0, int64_t rows, int64_t k0, int64_t kn,
              float* sums) {
  for (int64_t m = 0; m < rows;) {
    const float* p[kF32TileRows];
    const int64_t n = rows - m < kF32TileRows ? rows - m : kF32TileRows;
    for (int64_t i = 0; i < n; ++i) p[i] = x.f32 + activation_row(x, row0 + m + i) * x.f32_row + k0;
    float* out = sums + m * kTileGroups * kLanes;
    if (n == kF32TileRows) {
      f32_tile<G, kF32TileRows>(tiles, tile_stride, p, kn, out);
      m += kF32TileRows;
    } else if (n >= 2) {
      f32_tile<G, 2>(tiles, tile_stride, p, kn, out);
      m += 2;
    } else {
      f32_tile<G, 1>(tiles, tile_stride, p, kn, out);
      m += 1;
    }
  }
}

void product_f32(const MatrixView& w, const ActivationView& x, const ProductTile& t, TileScratch& scratch) {
  if (t.rows <= 4 && w.layout == Layout::kDense) {
    if (w.format == Format::kF32) return dense_product<Format::kF32>(w, x, t);
    if (w.format == Format::kF16) return dense_product<Format::kF16>(w, x, t);
    return dense_product<Format::kBF16>(w, x, t);
  }
  constexpr int kStride = kTileGroups * kLanes;
  for (int64_t g0 = t.group0; g0 < t.group1; g0 += kTileGroups) {
    const int groups = static_cast<int>(t.group1 - g0 < kTileGroups ? t.group1 - g0 : kTileGroups);
    for (int64_t i = 0; i < t.rows * kStride; ++i) scratch.sums[i] = 0.0f;
    for (int64_t k0 = 0; k0 < w.cols; k0 += kDepth) {
      const int64_t kn = w.cols - k0 < kDepth ? w.cols - k0 : kDepth;
      const float* tiles = scratch.weights;
      int64_t tile_stride = kDepth * kLanes;
      if (w.format == Format::kF32) {
        tiles = reinterpret_cast<const float*>(w.data + static_cast<size_t>(g0) * w.row_group_bytes) + k0 * kLanes;
        tile_stride = static_cast<int64_t>(w.row_group_bytes / 4);
      } else {
        for (int g = 0; g < groups; ++g) dequantize(w, g0 + g, k0, kn, scratch.weights + g * kDepth * kLanes, scratch);
      }
      int g = 0;
      for (; g + 2 <= groups; g += 2)
        f32_rows<2>(tiles + g * tile_stride, tile_stride, x, t.row0, t.rows, k0, kn, scratch.sums + g * kLanes);
      if (g < groups)
        f32_rows<1>(tiles + g * tile_stride, tile_stride, x, t.row0, t.rows, k0, kn, scratch.sums + g * kLanes);
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
