// AVX-512 version of generic/simd.h.
#pragma once

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "../half.h"

#if defined(__GNUC__) && !defined(__clang__)
// GCC's own headers start some intrinsics from an undefined vector.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#define DSI_INLINE inline __attribute__((always_inline))
#if defined(__clang__)
#define DSI_UNROLL _Pragma("unroll")
#else
#define DSI_UNROLL _Pragma("GCC unroll 16")
#endif

namespace {

using Int = __m512i;
using Float = __m512;

constexpr bool kHasBf16Dot = true;
constexpr bool kSignedBytes = false;
constexpr bool kTiledInt8 = true;
constexpr int kSkinnyStep = 8;  // most activation rows of one pass in the skinny path
constexpr int kInt8TileGroups = 4, kInt8TileRows = 3, kSuperTileRows = 4;
constexpr int kF32TileRows = 6;

DSI_INLINE Int load(const void* p) { return _mm512_loadu_si512(p); }
DSI_INLINE void store(void* p, Int v) { _mm512_storeu_si512(p, v); }
DSI_INLINE Int set1(int32_t v) { return _mm512_set1_epi32(v); }
DSI_INLINE Int load1(const void* p) { int32_t v; memcpy(&v, p, 4); return _mm512_set1_epi32(v); }
DSI_INLINE Int zero() { return _mm512_setzero_si512(); }
DSI_INLINE Int load_bytes(const uint8_t* p) {
  return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
DSI_INLINE Int band(Int a, Int b) { return _mm512_and_si512(a, b); }
DSI_INLINE Int bor(Int a, Int b) { return _mm512_or_si512(a, b); }
DSI_INLINE Int band_or(Int a, Int mask, Int b) { return _mm512_ternarylogic_epi32(a, mask, b, 0xea); }
DSI_INLINE Int add(Int a, Int b) { return _mm512_add_epi32(a, b); }
DSI_INLINE Int sub(Int a, Int b) { return _mm512_sub_epi32(a, b); }
DSI_INLINE Int mul(Int a, Int b) { return _mm512_mullo_epi32(a, b); }
template <int N> DSI_INLINE Int shl(Int a) { return _mm512_slli_epi32(a, N); }
template <int N> DSI_INLINE Int shr(Int a) { return _mm512_srli_epi32(a, N); }
template <int N> DSI_INLINE Int sar(Int a) { return _mm512_srai_epi32(a, N); }
template <int N> DSI_INLINE Int sar16(Int a) { return _mm512_srai_epi16(a, N); }
template <int N> DSI_INLINE Int shl16(Int a) { return _mm512_slli_epi16(a, N); }
DSI_INLINE Int sub16(Int a, Int b) { return _mm512_sub_epi16(a, b); }
DSI_INLINE Int load_words16(const uint8_t* p) {
  return _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
using Table = __m512i;
DSI_INLINE Table load_table(const uint8_t* p) {
  return _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
DSI_INLINE Int lookup(Table t, Int index) { return _mm512_shuffle_epi8(t, index); }

DSI_INLINE Int dot_int16(Int acc, Int a, Int b) { return _mm512_dpwssd_epi32(acc, a, b); }

template <int kMax>
struct Dot {
  Int acc;
  DSI_INLINE void begin(Int start) { acc = start; }
  DSI_INLINE void step(Int w, Int a) { acc = _mm512_dpbusd_epi32(acc, w, a); }
  template <int kStep> DSI_INLINE void settle() {}
  DSI_INLINE Int sum() const { return acc; }
};

DSI_INLINE Float loadf(const float* p) { return _mm512_loadu_ps(p); }
DSI_INLINE void storef(float* p, Float v) { _mm512_storeu_ps(p, v); }
DSI_INLINE Float set1f(float v) { return _mm512_set1_ps(v); }
DSI_INLINE Float zerof() { return _mm512_setzero_ps(); }
DSI_INLINE Float as_float(Int v) { return _mm512_castsi512_ps(v); }
DSI_INLINE Int as_int(Float v) { return _mm512_castps_si512(v); }
DSI_INLINE Float convert(Int v) { return _mm512_cvtepi32_ps(v); }
DSI_INLINE Float mulf(Float a, Float b) { return _mm512_mul_ps(a, b); }
DSI_INLINE Float addf(Float a, Float b) { return _mm512_add_ps(a, b); }
DSI_INLINE Float subf(Float a, Float b) { return _mm512_sub_ps(a, b); }
DSI_INLINE Float fma(Float a, Float b, Float c) { return _mm512_fmadd_ps(a, b, c); }
DSI_INLINE Float minf(Float a, Float b) { return _mm512_min_ps(a, b); }
DSI_INLINE Float maxf(Float a, Float b) { return _mm512_max_ps(a, b); }
DSI_INLINE Float divf(Float a, Float b) { return _mm512_div_ps(a, b); }
DSI_INLINE Float load_halves(const void* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
}
DSI_INLINE Int round_to_int(Float v) { return _mm512_cvtps_epi32(v); }
DSI_INLINE void store_int8(void* p, Int v) {
  _mm_storeu_si128(static_cast<__m128i*>(p), _mm512_cvtepi32_epi8(v));
}
DSI_INLINE Int maxi(Int a, Int b) { return _mm512_max_epi32(a, b); }
DSI_INLINE int32_t max_lane(Int v) { return _mm512_reduce_max_epi32(v); }
DSI_INLINE int32_t sum_lanes(Int v) { return _mm512_reduce_add_epi32(v); }

DSI_INLINE void store_bf16(void* p, Float v) {
  const __m256bh h = _mm512_cvtneps_pbh(v);
  memcpy(p, &h, 32);
}
DSI_INLINE Float dot_bf16(Float acc, Int w, Int a) { return _mm512_dpbf16_ps(acc, (__m512bh)w, (__m512bh)a); }

DSI_INLINE void transpose16(const float* in, int64_t in_stride, float* out) {
  __m512 r[16], t[16];
  for (int i = 0; i < 16; ++i) r[i] = _mm512_loadu_ps(in + i * in_stride);
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    r[i] = _mm512_shuffle_ps(t[i], t[i + 2], 0x44);
    r[i + 1] = _mm512_shuffle_ps(t[i], t[i + 2], 0xee);
    r[i + 2] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    r[i + 3] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0x88);
    t[i + 4] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0xdd);
    t[i + 8] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0x88);
    t[i + 12] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0xdd);
  }
  for (int i = 0; i < 4; ++i) {
    _mm512_storeu_ps(out + 16 * i, _mm512_shuffle_f32x4(t[i], t[i + 8], 0x88));
    _mm512_storeu_ps(out + 16 * (i + 8), _mm512_shuffle_f32x4(t[i], t[i + 8], 0xdd));
    _mm512_storeu_ps(out + 16 * (i + 4), _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0x88));
    _mm512_storeu_ps(out + 16 * (i + 12), _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0xdd));
  }
}

}  // namespace
