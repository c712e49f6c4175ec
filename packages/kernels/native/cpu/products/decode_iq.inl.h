// Decoders of the codebook formats IQ1 .. IQ3. Same rules as decode_blocks.inl.h.
#pragma once

#include "half.h"
#include "iq_codebooks.h"

namespace {

using dsi::products::decode_tables;

// y[i] = db * grid[i], negated where bit i of signs is set. No grid value is 0, so that negating bytes in a word carries nowhere.
inline void signed_grid(const uint64_t* sign_bytes, uint64_t grid, float db, unsigned signs, float* y) {
  const uint64_t mask = sign_bytes[signs & 255u];
  const uint64_t negated = (grid ^ mask) + (mask & 0x0101010101010101ull);
  int8_t v[8];
  memcpy(v, &negated, 8);
  for (int i = 0; i < 8; ++i) y[i] = db * static_cast<float>(v[i]);
}

inline uint64_t grid8(const int8_t* grid) {
  uint64_t v;
  memcpy(&v, grid, 8);
  return v;
}

inline uint64_t grid4x2(const int8_t* low, const int8_t* high) {
  uint32_t a, b;
  memcpy(&a, low, 4);
  memcpy(&b, high, 4);
  return a | static_cast<uint64_t>(b) << 32;
}

void decode_iq2_xxs(const uint8_t* p, int64_t n, float* y) {
  const auto& t = decode_tables();
  for (int64_t b = 0; b < n / 256; ++b, p += 66) {
    const float d = load_f16(p);
    for (int j = 0; j < 8; ++j) {
      const uint8_t* q = p + 2 + 8 * j;
      const uint32_t word = load_u32(q + 4);
      const float db = d * (0.5f + static_cast<float>(word >> 28)) * 0.25f;
      for (int g = 0; g < 4; ++g, y += 8) signed_grid(t.sign_bytes, grid8(t.iq2xxs[q[g]]), db, t.signs7[(word >> (7 * g)) & 127], y);
    }
  }
}

void decode_iq2_xs(const uint8_t* p, int64_t n, float* y) {
  const auto& t = decode_tables();
  for (int64_t b = 0; b < n / 256; ++b, p += 74) {
    const float d = load_f16(p);
    for (int g = 0; g < 32; ++g, y += 8) {
      const uint16_t q = load_u16(p + 2 + 2 * g);
      const int scale = (p[66 + g / 4] >> (4 * ((g >> 1) & 1))) & 15;
      const float db = d * (0.5f + static_cast<float>(scale)) * 0.25f;
      signed_grid(t.sign_bytes, grid8(t.iq2xs[q & 511]), db, t.signs7[q >> 9], y);
    }
  }
}

void decode_iq2_s(const uint8_t* p, int64_t n, float* y) {
  const auto& t = decode_tables();
  for (int64_t b = 0; b < n / 256; ++b, p += 82) {
    const float d = load_f16(p);
    for (int g = 0; g < 32; ++g, y += 8) {
      const int index = p[2 + g] | ((p[66 + g / 4] >> (2 * (g & 3))) & 3) << 8;
      const int scale = (p[74 + g / 4] >> (4 * ((g >> 1) & 1))) & 15;
      const float db = d * (0.5f + static_cast<float>(scale)) * 0.25f;
      signed_grid(t.sign_bytes, grid8(t.iq2s[index]), db, p[34 + g], y);
    }
  }
}

void decode_iq3_xxs(const uint8_t* p, int64_t n, float* y) {
  const auto& t = decode_tables();
  for (int64_t b = 0; b < n / 256; ++b, p += 98) {
    const float d = load_f16(p);
    for (int j = 0; j < 8; ++j) {
      const uint32_t word = load_u32(p + 66 + 4 * j);
      const float db = d * (0.5f + static_cast<float>(word >> 28)) * 0.5f;
      for (int g = 0; g < 4; ++g, y += 8) {
        const unsigned signs = t.signs7[(word >> (7 * g)) & 127];
        const uint8_t* q = p + 2 + 8 * j + 2 * g;
        signed_grid(t.sign_bytes, grid4x2(t.iq3xxs[q[0]], t.iq3xxs[q[1]]), db, signs, y);
      }
    }
  }
}

void decode_iq3_s(const uint8_t* p, int64_t n, float* y) {
  const auto& t = decode_tables();
  for (int64_t b = 0; b < n / 256; ++b, p += 110) {
    const float d = load_f16(p);
    for (int g = 0; g < 32; ++g, y += 8) {
      const int scale = (p[106 + g / 8] >> (4 * ((g >> 2) & 1))) & 15;
      const float db = d * static_cast<float>(1 + 2 * scale);
      const uint8_t* q = p + 2 + 2 * g;
      const int high = p[66 + g / 4] >> (2 * (g & 3));
      const unsigned signs = p[74 + g];
      signed_grid(t.sign_bytes, grid4x2(t.iq3s[q[0] | (high & 1) << 8], t.iq3s[q[1] | (high & 2) << 7]), db, signs, y);
    }
  }
}

void decode_iq1_s(const uint8_t* p, int64_t n, float* y) {
  const auto& t = decode_tables();
  for (int64_t b = 0; b < n / 256; ++b, p += 50) {
    const float d = load_f16(p);
    for (int j = 0; j < 8; ++j) {
      const unsigned high = load_u16(p + 34 + 2 * j);
      const float dl = d * static_cast<float>(2 * ((high >> 12) & 7) + 1);
      const float delta = (high & 0x8000u) ? -0.125f : 0.125f;
      for (int g = 0; g < 4; ++g, y += 8) {
        const int8_t* grid = t.iq1[p[2 + 4 * j + g] | ((high >> (3 * g)) & 7) << 8];
        for (int i = 0; i < 8; ++i) y[i] = dl * (static_cast<float>(grid[i]) + delta);
      }
    }
  }
}

void decode_iq1_m(const uint8_t* p, int64_t n, float* y) {
  const auto& t = decode_tables();
  for (int64_t b = 0; b < n / 256; ++b, p += 56) {
    uint32_t scale_bits = 0;  // the f16 scale, a nibble in each of four words
    for (int i = 0; i < 4; ++i) scale_bits |= static_cast<uint32_t>(load_u16(p + 48 + 2 * i) >> 12) << (4 * i);
    const float d = f16_to_float(static_cast<uint16_t>(scale_bits));
    for (int g = 0; g < 32; ++g, y += 8) {
      const unsigned high = (p[32 + g / 2] >> (4 * (g & 1))) & 15u;
      const unsigned scale = (load_u16(p + 48 + 2 * (g / 8)) >> (3 * ((g / 2) & 3))) & 7u;
      const float dl = d * static_cast<float>(2 * scale + 1);
      const float delta = (high & 8u) ? -0.125f : 0.125f;
      const int8_t* grid = t.iq1[p[g] | (high & 7u) << 8];
      for (int i = 0; i < 8; ++i) y[i] = dl * (static_cast<float>(grid[i]) + delta);
    }
  }
}

// F8 by arithmetic, so that compilers vectorise it: exponent and mantissa moved into an f32, then scaled by a power of two (exact).
inline float e4m3_to_float(uint8_t c) {
  const uint32_t magnitude = c & 0x7fu;
  const float v = bits_to_float(magnitude << 20) * 0x1p120f;
  uint32_t bits;
  memcpy(&bits, &v, 4);
  bits = magnitude == 0x7fu ? 0x7fc00000u : bits;
  return bits_to_float(bits | static_cast<uint32_t>(c & 0x80u) << 24);
}

inline float e5m2_to_float(uint8_t c) {
  const uint32_t magnitude = c & 0x7fu;
  const float v = bits_to_float(magnitude << 21) * 0x1p112f;
  uint32_t bits;
  memcpy(&bits, &v, 4);
  bits = magnitude > 0x7cu ? 0x7fc00000u : magnitude == 0x7cu ? 0x7f800000u : bits;
  return bits_to_float(bits | static_cast<uint32_t>(c & 0x80u) << 24);
}

}  // namespace
