// Sixteen 32-bit lanes in compiler vectors: what the kernels (../*.inl.h) are written in. Plain C++ version and model of the others.
#pragma once

#include <stdint.h>
#include <string.h>

#include "../half.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"  // everything here is inlined
#endif

#define DSI_INLINE inline __attribute__((always_inline))
#if defined(__clang__)
#define DSI_UNROLL _Pragma("unroll")
#else
#define DSI_UNROLL _Pragma("GCC unroll 16")
#endif

namespace {

typedef int32_t Int __attribute__((vector_size(64)));
typedef uint32_t UInt __attribute__((vector_size(64)));
typedef int16_t Int16x32 __attribute__((vector_size(64)));
typedef uint8_t Byte64 __attribute__((vector_size(64)));
typedef float Float __attribute__((vector_size(64)));

constexpr bool kHasBf16Dot = false;
constexpr bool kSignedBytes = false;  // whether 8-bit codes are multiplied as signed (no correction by activation sums)
constexpr bool kTiledInt8 = false;  // one path is enough here
constexpr int kSkinnyStep = 1;
constexpr int kInt8TileGroups = 1, kInt8TileRows = 1, kSuperTileRows = 1;
constexpr int kF32TileRows = 2;

DSI_INLINE Int load(const void* p) { Int v; memcpy(&v, p, 64); return v; }
DSI_INLINE void store(void* p, Int v) { memcpy(p, &v, 64); }
DSI_INLINE Int set1(int32_t v) { return v - (Int){}; }
DSI_INLINE Int load1(const void* p) { int32_t v; memcpy(&v, p, 4); return set1(v); }
DSI_INLINE Int zero() { return (Int){}; }
DSI_INLINE Int load_bytes(const uint8_t* p) {  // 16 bytes, zero-extended
  Int v;
  for (int i = 0; i < 16; ++i) v[i] = p[i];
  return v;
}
DSI_INLINE Int band(Int a, Int b) { return a & b; }
DSI_INLINE Int bor(Int a, Int b) { return a | b; }
DSI_INLINE Int band_or(Int a, Int mask, Int b) { return (a & mask) | b; }
DSI_INLINE Int add(Int a, Int b) { return a + b; }
DSI_INLINE Int sub(Int a, Int b) { return a - b; }
DSI_INLINE Int mul(Int a, Int b) { return a * b; }
template <int N> DSI_INLINE Int shl(Int a) { return (Int)((UInt)a << N); }
template <int N> DSI_INLINE Int shr(Int a) { return (Int)((UInt)a >> N); }
template <int N> DSI_INLINE Int sar(Int a) { return a >> N; }
template <int N> DSI_INLINE Int sar16(Int a) { return (Int)((Int16x32)a >> N); }
template <int N> DSI_INLINE Int shl16(Int a) { return (Int)((Int16x32)a << N); }
DSI_INLINE Int sub16(Int a, Int b) { return (Int)((Int16x32)a - (Int16x32)b); }
DSI_INLINE Int load_words16(const uint8_t* p) {  // 16 uint16, zero-extended
  Int v;
  for (int i = 0; i < 16; ++i) v[i] = load_u16(p + 2 * i);
  return v;
}
struct Table { uint8_t v[16]; };
DSI_INLINE Table load_table(const uint8_t* p) { Table t; memcpy(t.v, p, 16); return t; }
DSI_INLINE Int lookup(Table t, Int index) {  // bytes of index in [0, 16)
  Byte64 b = (Byte64)index;
  for (int i = 0; i < 64; ++i) b[i] = t.v[b[i]];
  return (Int)b;
}

// acc + products of int16 pairs
DSI_INLINE Int dot_int16(Int acc, Int a, Int b) {
  return acc + ((a << 16) >> 16) * ((b << 16) >> 16) + (a >> 16) * (b >> 16);
}

// Sum of products of unsigned codes (at most kMax) and signed activations.
template <int kMax>
struct Dot {
  Int acc;
  DSI_INLINE void begin(Int start) { acc = start; }
  DSI_INLINE void step(Int w, Int a) {
    const UInt u = (UInt)w;
    acc += (Int)(u & 255) * ((a << 24) >> 24) + (Int)((u >> 8) & 255) * ((a << 16) >> 24) +
           (Int)((u >> 16) & 255) * ((a << 8) >> 24) + (Int)(u >> 24) * (a >> 24);
  }
  template <int kStep> DSI_INLINE void settle() {}  // called after step kStep (from 0)
  DSI_INLINE Int sum() const { return acc; }
};

DSI_INLINE Float loadf(const float* p) { Float v; memcpy(&v, p, 64); return v; }
DSI_INLINE void storef(float* p, Float v) { memcpy(p, &v, 64); }
DSI_INLINE Float set1f(float v) { return v - (Float){}; }
DSI_INLINE Float zerof() { return (Float){}; }
DSI_INLINE Float as_float(Int v) { return (Float)v; }
DSI_INLINE Int as_int(Float v) { return (Int)v; }
DSI_INLINE Float convert(Int v) { return __builtin_convertvector(v, Float); }
DSI_INLINE Float mulf(Float a, Float b) { return a * b; }
DSI_INLINE Float addf(Float a, Float b) { return a + b; }
DSI_INLINE Float subf(Float a, Float b) { return a - b; }
DSI_INLINE Float fma(Float a, Float b, Float c) { return a * b + c; }  // two roundings where there is no FMA
DSI_INLINE Float minf(Float a, Float b) { return a < b ? a : b; }  // b when either is NaN
DSI_INLINE Float maxf(Float a, Float b) { return a > b ? a : b; }
DSI_INLINE Float divf(Float a, Float b) { return a / b; }
DSI_INLINE Float load_halves(const void* p) {
  Float v;
  for (int i = 0; i < 16; ++i) v[i] = load_f16(static_cast<const uint8_t*>(p) + 2 * i);
  return v;
}
// Nearest even, for |v| < 2^22.
DSI_INLINE Int round_to_int(Float v) {
  const Float magic = set1f(12582912.0f);  // 1.5 * 2^23
  return as_int(v + magic) - as_int(magic);
}
DSI_INLINE void store_int8(void* p, Int v) {  // lanes in [-128, 127]
  int8_t b[16];
  for (int i = 0; i < 16; ++i) b[i] = static_cast<int8_t>(v[i]);
  memcpy(p, b, 16);
}
DSI_INLINE Int maxi(Int a, Int b) { return a > b ? a : b; }
DSI_INLINE int32_t max_lane(Int v) {
  int32_t m = v[0];
  for (int i = 1; i < 16; ++i) m = v[i] > m ? v[i] : m;
  return m;
}
DSI_INLINE int32_t sum_lanes(Int v) {
  int32_t s = 0;
  for (int i = 0; i < 16; ++i) s += v[i];
  return s;
}

// in[r][k] -> out[k][r], 16 x 16
DSI_INLINE void transpose16(const float* in, int64_t in_stride, float* out) {
  for (int r = 0; r < 16; ++r)
    for (int k = 0; k < 16; ++k) out[16 * k + r] = in[r * in_stride + k];
}

}  // namespace
