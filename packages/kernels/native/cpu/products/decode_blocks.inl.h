// Decoders of NVFP4 and the ternary TQ types. Every value is the product (and sum) that gguf-py computes, in its order, in f32.
// Internal linkage (compiled per instruction set).
#pragma once

#include "half.h"

namespace {

// E2M1 values doubled.
constexpr int8_t kE2M1Values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// Unsigned E4M3 times 0.5 (the E2M1 table is doubled).
inline float ue4m3_half(uint8_t x) {
  if (x == 0x7f) return 0.0f;
  const int exponent = (x >> 3) & 15;
  const int fraction = x & 7;
  if (exponent == 0) return static_cast<float>(fraction) * 0x1p-10f;
  return bits_to_float(static_cast<uint32_t>(exponent + 127 - 7 - 1) << 23 | static_cast<uint32_t>(fraction) << 20);
}

void decode_nvfp4(const uint8_t* p, int64_t n, float* y) {
  for (int64_t b = 0; b < n / 64; ++b, p += 36)
    for (int s = 0; s < 4; ++s, y += 16) {
      const float d = ue4m3_half(p[s]);
      const uint8_t* q = p + 4 + 8 * s;
      for (int i = 0; i < 8; ++i) {
        y[i] = d * static_cast<float>(kE2M1Values[q[i] & 15]);
        y[8 + i] = d * static_cast<float>(kE2M1Values[q[i] >> 4]);
      }
    }
}

inline float ternary(uint8_t code, uint8_t power, float d) {  // digit of base 3 in the top of (code * power) mod 256
  const uint8_t shifted = static_cast<uint8_t>(code * power);
  return d * static_cast<float>(((shifted * 3) >> 8) - 1);
}

void decode_tq1_0(const uint8_t* p, int64_t n, float* y) {
  static constexpr uint8_t kPowers[5] = {1, 3, 9, 27, 81};
  for (int64_t b = 0; b < n / 256; ++b, p += 54) {
    const float d = load_f16(p + 52);
    for (int t = 0; t < 5; ++t)
      for (int i = 0; i < 32; ++i) *y++ = ternary(p[i], kPowers[t], d);
    for (int t = 0; t < 5; ++t)
      for (int i = 0; i < 16; ++i) *y++ = ternary(p[32 + i], kPowers[t], d);
    for (int t = 0; t < 4; ++t)
      for (int i = 0; i < 4; ++i) *y++ = ternary(p[48 + i], kPowers[t], d);
  }
}

void decode_tq2_0(const uint8_t* p, int64_t n, float* y) {
  for (int64_t b = 0; b < n / 256; ++b, p += 66) {
    const float d = load_f16(p + 64);
    for (int h = 0; h < 2; ++h)
      for (int t = 0; t < 4; ++t)
        for (int i = 0; i < 32; ++i) *y++ = d * static_cast<float>(((p[32 * h + i] >> (2 * t)) & 3) - 1);
  }
}

}  // namespace
