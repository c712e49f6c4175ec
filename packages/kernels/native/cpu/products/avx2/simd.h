// AVX2 version of generic/simd.h: two 256-bit halves (rows 0-7, 8-15). With AVX-VNNI (DSI_AVX_VNNI) the byte products use it.
#pragma once

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "../half.h"

#define DSI_INLINE inline __attribute__((always_inline))
#if defined(__clang__)
#define DSI_UNROLL _Pragma("unroll")
#else
#define DSI_UNROLL _Pragma("GCC unroll 16")
#endif

namespace {

struct Int { __m256i a, b; };
struct Float { __m256 a, b; };

constexpr bool kHasBf16Dot = false;
#ifdef DSI_AVX_VNNI
constexpr bool kSignedBytes = false;
#else
constexpr bool kSignedBytes = true;  // vpmaddubsw saturates on codes above 127
#endif
constexpr bool kTiledInt8 = true;
constexpr int kSkinnyStep = 4;  // most activation rows of one pass in the skinny path
constexpr int kInt8TileGroups = 1, kInt8TileRows = 3, kSuperTileRows = 3;
constexpr int kF32TileRows = 3;

DSI_INLINE __m256i load256(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
DSI_INLINE Int load(const void* p) { return {load256(p), load256(static_cast<const uint8_t*>(p) + 32)}; }
DSI_INLINE void store(void* p, Int v) {
  _mm256_storeu_si256(static_cast<__m256i*>(p), v.a);
  _mm256_storeu_si256(static_cast<__m256i*>(p) + 1, v.b);
}
DSI_INLINE Int both(__m256i v) { return {v, v}; }
DSI_INLINE Int set1(int32_t v) { return both(_mm256_set1_epi32(v)); }
DSI_INLINE Int load1(const void* p) { int32_t v; memcpy(&v, p, 4); return set1(v); }
DSI_INLINE Int zero() { return both(_mm256_setzero_si256()); }
DSI_INLINE Int load_bytes(const uint8_t* p) {
  return {_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))),
          _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p + 8)))};
}
DSI_INLINE Int band(Int x, Int y) { return {_mm256_and_si256(x.a, y.a), _mm256_and_si256(x.b, y.b)}; }
DSI_INLINE Int bor(Int x, Int y) { return {_mm256_or_si256(x.a, y.a), _mm256_or_si256(x.b, y.b)}; }
DSI_INLINE Int band_or(Int x, Int mask, Int y) { return bor(band(x, mask), y); }
DSI_INLINE Int add(Int x, Int y) { return {_mm256_add_epi32(x.a, y.a), _mm256_add_epi32(x.b, y.b)}; }
DSI_INLINE Int sub(Int x, Int y) { return {_mm256_sub_epi32(x.a, y.a), _mm256_sub_epi32(x.b, y.b)}; }
DSI_INLINE Int mul(Int x, Int y) { return {_mm256_mullo_epi32(x.a, y.a), _mm256_mullo_epi32(x.b, y.b)}; }
template <int N> DSI_INLINE Int shl(Int x) { return {_mm256_slli_epi32(x.a, N), _mm256_slli_epi32(x.b, N)}; }
template <int N> DSI_INLINE Int shr(Int x) { return {_mm256_srli_epi32(x.a, N), _mm256_srli_epi32(x.b, N)}; }
template <int N> DSI_INLINE Int sar(Int x) { return {_mm256_srai_epi32(x.a, N), _mm256_srai_epi32(x.b, N)}; }
template <int N> DSI_INLINE Int sar16(Int x) { return {_mm256_srai_epi16(x.a, N), _mm256_srai_epi16(x.b, N)}; }
template <int N> DSI_INLINE Int shl16(Int x) { return {_mm256_slli_epi16(x.a, N), _mm256_slli_epi16(x.b, N)}; }
DSI_INLINE Int sub16(Int x, Int y) { return {_mm256_sub_epi16(x.a, y.a), _mm256_sub_epi16(x.b, y.b)}; }
DSI_INLINE Int load_words16(const uint8_t* p) {
  return {_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))),
          _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16)))};
}
using Table = __m256i;
DSI_INLINE Table load_table(const uint8_t* p) {
  return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
DSI_INLINE Int lookup(Table t, Int i) { return {_mm256_shuffle_epi8(t, i.a), _mm256_shuffle_epi8(t, i.b)}; }

DSI_INLINE Int madd16(Int x, Int y) { return {_mm256_madd_epi16(x.a, y.a), _mm256_madd_epi16(x.b, y.b)}; }
DSI_INLINE Int dot_int16(Int acc, Int x, Int y) { return add(acc, madd16(x, y)); }

#ifdef DSI_AVX_VNNI
template <int kMax>
struct Dot {
  Int acc;
  DSI_INLINE void begin(Int start) { acc = start; }
  DSI_INLINE void step(Int w, Int x) {
    acc = {_mm256_dpbusd_avx_epi32(acc.a, w.a, x.a), _mm256_dpbusd_avx_epi32(acc.b, w.b, x.b)};
  }
  template <int kStep> DSI_INLINE void settle() {}
  DSI_INLINE Int sum() const { return acc; }
};
#else
// Pair sums stay in int16 for as many steps as cannot overflow (kMax * 127 * 2 each), then go to int32.
template <int kMax>
struct Dot {
  static constexpr int kSteps = 32767 / (2 * 127 * kMax) >= 8 ? 8 : 32767 / (2 * 127 * kMax) >= 4 ? 4 : 32767 / (2 * 127 * kMax) >= 2 ? 2 : 1;
  static_assert(kMax <= 127, "saturates");
  Int acc, pairs;
  DSI_INLINE void begin(Int start) {
    acc = start;
    pairs = zero();
  }
  DSI_INLINE void step(Int w, Int x) {
    pairs = {_mm256_add_epi16(pairs.a, _mm256_maddubs_epi16(w.a, x.a)),
             _mm256_add_epi16(pairs.b, _mm256_maddubs_epi16(w.b, x.b))};
  }
  template <int kStep> DSI_INLINE void settle() {
    if (kSteps < 8 && (kStep + 1) % kSteps == 0) flush();
  }
  DSI_INLINE void flush() {
    acc = dot_int16(acc, pairs, both(_mm256_set1_epi16(1)));
    pairs = zero();
  }
  DSI_INLINE Int sum() {
    return kSteps == 8 ? dot_int16(acc, pairs, both(_mm256_set1_epi16(1))) : acc;
  }
};
// 8-bit codes biased by 128: |w| times the activation with w's sign; sums 128 times the activations' sum less than the unsigned form.
template <>
struct Dot<255> {
  Int acc;
  DSI_INLINE void begin(Int start) { acc = start; }
  DSI_INLINE void step(Int w, Int x) {
    const __m256i flip = _mm256_set1_epi8(static_cast<char>(0x80)), ones = _mm256_set1_epi16(1);
    const __m256i wa = _mm256_xor_si256(w.a, flip), wb = _mm256_xor_si256(w.b, flip);
    const __m256i pa = _mm256_maddubs_epi16(_mm256_abs_epi8(wa), _mm256_sign_epi8(x.a, wa));
    const __m256i pb = _mm256_maddubs_epi16(_mm256_abs_epi8(wb), _mm256_sign_epi8(x.b, wb));
    acc = {_mm256_add_epi32(acc.a, _mm256_madd_epi16(pa, ones)), _mm256_add_epi32(acc.b, _mm256_madd_epi16(pb, ones))};
  }
  template <int kStep> DSI_INLINE void settle() {}
  DSI_INLINE Int sum() const { return acc; }
};
#endif

DSI_INLINE Float loadf(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
DSI_INLINE void storef(float* p, Float v) {
  _mm256_storeu_ps(p, v.a);
  _mm256_storeu_ps(p + 8, v.b);
}
DSI_INLINE Float set1f(float v) { return {_mm256_set1_ps(v), _mm256_set1_ps(v)}; }
DSI_INLINE Float zerof() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
DSI_INLINE Float as_float(Int v) { return {_mm256_castsi256_ps(v.a), _mm256_castsi256_ps(v.b)}; }
DSI_INLINE Int as_int(Float v) { return {_mm256_castps_si256(v.a), _mm256_castps_si256(v.b)}; }
DSI_INLINE Float convert(Int v) { return {_mm256_cvtepi32_ps(v.a), _mm256_cvtepi32_ps(v.b)}; }
DSI_INLINE Float mulf(Float x, Float y) { return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)}; }
DSI_INLINE Float addf(Float x, Float y) { return {_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)}; }
DSI_INLINE Float subf(Float x, Float y) { return {_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)}; }
DSI_INLINE Float fma(Float x, Float y, Float z) { return {_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)}; }
DSI_INLINE Float minf(Float x, Float y) { return {_mm256_min_ps(x.a, y.a), _mm256_min_ps(x.b, y.b)}; }
DSI_INLINE Float maxf(Float x, Float y) { return {_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)}; }
DSI_INLINE Float divf(Float x, Float y) { return {_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)}; }
DSI_INLINE Float load_halves(const void* p) {
  const __m128i* h = static_cast<const __m128i*>(p);
  return {_mm256_cvtph_ps(_mm_loadu_si128(h)), _mm256_cvtph_ps(_mm_loadu_si128(h + 1))};
}
DSI_INLINE Int round_to_int(Float v) { return {_mm256_cvtps_epi32(v.a), _mm256_cvtps_epi32(v.b)}; }
DSI_INLINE void store_int8(void* p, Int v) {
  const __m256i w = _mm256_permute4x64_epi64(_mm256_packs_epi32(v.a, v.b), 0xd8);
  _mm_storeu_si128(static_cast<__m128i*>(p), _mm_packs_epi16(_mm256_castsi256_si128(w), _mm256_extracti128_si256(w, 1)));
}
DSI_INLINE Int maxi(Int x, Int y) { return {_mm256_max_epi32(x.a, y.a), _mm256_max_epi32(x.b, y.b)}; }
DSI_INLINE int32_t max_lane(Int v) {
  const __m256i m = _mm256_max_epi32(v.a, v.b);
  __m128i q = _mm_max_epi32(_mm256_castsi256_si128(m), _mm256_extracti128_si256(m, 1));
  q = _mm_max_epi32(q, _mm_shuffle_epi32(q, 0x4e));
  return _mm_cvtsi128_si32(_mm_max_epi32(q, _mm_shuffle_epi32(q, 0xb1)));
}
DSI_INLINE int32_t sum_lanes(Int v) {
  const __m256i s = _mm256_add_epi32(v.a, v.b);
  __m128i q = _mm_add_epi32(_mm256_castsi256_si128(s), _mm256_extracti128_si256(s, 1));
  q = _mm_add_epi32(q, _mm_shuffle_epi32(q, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(q, _mm_shuffle_epi32(q, 0xb1)));
}

DSI_INLINE void transpose8(const float* in, int64_t in_stride, float* out) {  // out stride 16
  __m256 r[8], t[8];
  for (int i = 0; i < 8; ++i) r[i] = _mm256_loadu_ps(in + i * in_stride);
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
    r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
    r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    _mm256_storeu_ps(out + 16 * i, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
    _mm256_storeu_ps(out + 16 * (i + 4), _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
  }
}
DSI_INLINE void transpose16(const float* in, int64_t in_stride, float* out) {
  for (int r = 0; r < 16; r += 8)
    for (int k = 0; k < 16; k += 8) transpose8(in + r * in_stride + k, in_stride, out + 16 * k + r);
}

}  // namespace
