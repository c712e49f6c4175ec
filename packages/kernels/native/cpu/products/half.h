// Scalar conversions. Internal linkage: this header is compiled under several instruction sets.
#pragma once

#include <stdint.h>
#include <string.h>

namespace {

inline float bits_to_float(uint32_t bits) {
  float f;
  memcpy(&f, &bits, 4);
  return f;
}

inline float bf16_to_float(uint16_t h) { return bits_to_float(static_cast<uint32_t>(h) << 16); }

inline float f16_to_float(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  const uint32_t exponent = (h >> 10) & 31u;
  const uint32_t fraction = h & 0x3ffu;
  if (exponent == 31) return bits_to_float(sign | 0x7f800000u | (fraction << 13));
  if (exponent != 0) return bits_to_float(sign | ((exponent + 112) << 23) | (fraction << 13));
  const float magnitude = static_cast<float>(fraction) * 0x1p-24f;  // subnormal: exact
  return sign ? -magnitude : magnitude;
}

inline uint16_t load_u16(const uint8_t* p) {
  uint16_t v;
  memcpy(&v, p, 2);
  return v;
}

inline uint32_t load_u32(const uint8_t* p) {
  uint32_t v;
  memcpy(&v, p, 4);
  return v;
}

inline float load_f16(const uint8_t* p) { return f16_to_float(load_u16(p)); }

}  // namespace
