// Decoders of the formats that kernels read in vector_layout.h only: the oracle for those, from the file's own layout.
#include "decode.h"

#include <cmath>
#include <limits>

#include "decode_blocks.inl.h"
#include "decode_iq.inl.h"

namespace {

constexpr int8_t kIQ4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

inline float e8m0_half(uint8_t e) {  // 2^(e - 128)
  return bits_to_float(e < 2 ? 0x00200000u << e : static_cast<uint32_t>(e - 1) << 23);
}

void decode_q4_0(const uint8_t* p, int64_t n, float* y) {
  for (int64_t b = 0; b < n / 32; ++b, p += 18, y += 32) {
    const float d = load_f16(p);
    for (int i = 0; i < 16; ++i) {
      y[i] = d * static_cast<float>((p[2 + i] & 15) - 8);
      y[16 + i] = d * static_cast<float>((p[2 + i] >> 4) - 8);
    }
  }
}

void decode_q4_1(const uint8_t* p, int64_t n, float* y) {
  for (int64_t b = 0; b < n / 32; ++b, p += 20, y += 32) {
    const float d = load_f16(p), m = load_f16(p + 2);
    for (int i = 0; i < 16; ++i) {
      y[i] = d * static_cast<float>(p[4 + i] & 15) + m;
      y[16 + i] = d * static_cast<float>(p[4 + i] >> 4) + m;
    }
  }
}

void decode_q5_0(const uint8_t* p, int64_t n, float* y) {
  for (int64_t b = 0; b < n / 32; ++b, p += 22, y += 32) {
    const float d = load_f16(p);
    const uint32_t high = load_u32(p + 2);
    for (uint32_t i = 0; i < 16; ++i) {
      y[i] = d * static_cast<float>(static_cast<int>((p[6 + i] & 15u) | ((high >> i) & 1u) << 4) - 16);
      y[16 + i] = d * static_cast<float>(static_cast<int>((p[6 + i] >> 4) | ((high >> (16 + i)) & 1u) << 4) - 16);
    }
  }
}

void decode_q5_1(const uint8_t* p, int64_t n, float* y) {
  for (int64_t b = 0; b < n / 32; ++b, p += 24, y += 32) {
    const float d = load_f16(p), m = load_f16(p + 2);
    const uint32_t high = load_u32(p + 4);
    for (uint32_t i = 0; i < 16; ++i) {
      y[i] = d * static_cast<float>(static_cast<int>((p[8 + i] & 15u) | ((high >> i) & 1u) << 4)) + m;
      y[16 + i] = d * static_cast<float>(static_cast<int>((p[8 + i] >> 4) | ((high >> (16 + i)) & 1u) << 4)) + m;
    }
  }
}

void decode_q8_0(const uint8_t* p, int64_t n, float* y) {
  for (int64_t b = 0; b < n / 32; ++b, p += 34, y += 32) {
    const float d = load_f16(p);
    for (int i = 0; i < 32; ++i) y[i] = d * static_cast<float>(static_cast<int8_t>(p[2 + i]));
  }
}

void decode_iq4_nl(const uint8_t* p, int64_t n, float* y) {
  for (int64_t b = 0; b < n / 32; ++b, p += 18, y += 32) {
    const float d = load_f16(p);
    for (int i = 0; i < 16; ++i) {
      y[i] = d * static_cast<float>(kIQ4Values[p[2 + i] & 15]);
      y[16 + i] = d * static_cast<float>(kIQ4Values[p[2 + i] >> 4]);
    }
  }
}

void decode_mxfp4(const uint8_t* p, int64_t n, float* y) {
  for (int64_t b = 0; b < n / 32; ++b, p += 17, y += 32) {
    const float d = e8m0_half(p[0]);
    for (int i = 0; i < 16; ++i) {
      y[i] = d * static_cast<float>(kE2M1Values[p[1 + i] & 15]);
      y[16 + i] = d * static_cast<float>(kE2M1Values[p[1 + i] >> 4]);
    }
  }
}

// 6-bit scale and min of sub-block j from the 12 bytes of Q4_K and Q5_K.
inline void k4_scale_min(const uint8_t* s, int j, int* scale, int* min) {
  if (j < 4) {
    *scale = s[j] & 63;
    *min = s[j + 4] & 63;
  } else {
    *scale = (s[j + 4] & 15) | ((s[j - 4] >> 2) & 0x30);
    *min = (s[j + 4] >> 4) | ((s[j] >> 2) & 0x30);
  }
}

// Scale (-32 .. 31) of sub-block j from the 12 bytes of Q3_K.
inline int k3_scale(const uint8_t* s, int j) {
  const int low = (s[j & 7] >> (j < 8 ? 0 : 4)) & 15;
  const int high = (s[8 + (j & 3)] >> (2 * (j >> 2))) & 3;
  return (low | high << 4) - 32;
}

void decode_q2_k(const uint8_t* p, int64_t n, float* y) {
  for (int64_t b = 0; b < n / 256; ++b, p += 84) {
    const float d = load_f16(p + 80), dmin = load_f16(p + 82);
    for (int j = 0; j < 16; ++j, y += 16) {
      const float dl = d * static_cast<float>(p[j] & 15), ml = dmin * static_cast<float>(p[j] >> 4);
      const uint8_t* q = p + 16 + 32 * (j >> 3) + 16 * (j & 1);
      const int shift = 2 * ((j >> 1) & 3);
      for (int i = 0; i < 16; ++i) y[i] = dl * static_cast<float>((q[i] >> shift) & 3) - ml;
    }
  }
}

void decode_q3_k(const uint8_t* p, int64_t n, float* y) {
  for (int64_t b = 0; b < n / 256; ++b, p += 110) {
    const float d = load_f16(p + 108);
    for (int j = 0; j < 16; ++j, y += 16) {
      const float dl = d * static_cast<float>(k3_scale(p + 96, j));
      const uint8_t* q = p + 32 + 32 * (j >> 3) + 16 * (j & 1);
      const uint8_t* high = p + 16 * (j & 1);
      const int shift = 2 * ((j >> 1) & 3), bit = j >> 1;
      for (int i = 0; i < 16; ++i)
        y[i] = dl * static_cast<float>(((q[i] >> shift) & 3) - (((high[i] >> bit) & 1) ? 0 : 4));
    }
  }
}

void decode_q4_k(const uint8_t* p, int64_t n, float* y) {
  for (int64_t b = 0; b < n / 256; ++b, p += 144) {
    const float d = load_f16(p), dmin = load_f16(p + 2);
    for (int j = 0; j < 8; ++j, y += 32) {
      int scale, min;
      k4_scale_min(p + 4, j, &scale, &min);
      const float dl = d * static_cast<float>(scale), ml = dmin * static_cast<float>(min);
      const uint8_t* q = p + 16 + 32 * (j >> 1);
      const int shift = 4 * (j & 1);
      for (int i = 0; i < 32; ++i) y[i] = dl * static_cast<float>((q[i] >> shift) & 15) - ml;
    }
  }
}

void decode_q5_k(const uint8_t* p, int64_t n, float* y) {
  for (int64_t b = 0; b < n / 256; ++b, p += 176) {
    const float d = load_f16(p), dmin = load_f16(p + 2);
    for (int j = 0; j < 8; ++j, y += 32) {
      int scale, min;
      k4_scale_min(p + 4, j, &scale, &min);
      const float dl = d * static_cast<float>(scale), ml = dmin * static_cast<float>(min);
      const uint8_t *high = p + 16, *q = p + 48 + 32 * (j >> 1);
      const int shift = 4 * (j & 1);
      for (int i = 0; i < 32; ++i)
        y[i] = dl * static_cast<float>(((q[i] >> shift) & 15) | ((high[i] >> j) & 1) << 4) - ml;
    }
  }
}

void decode_q6_k(const uint8_t* p, int64_t n, float* y) {
  for (int64_t b = 0; b < n / 256; ++b, p += 210) {
    const float d = load_f16(p + 208);
    for (int j = 0; j < 16; ++j, y += 16) {
      const float dl = d * static_cast<float>(static_cast<int8_t>(p[192 + j]));
      const int half = j >> 3, quarter = (j >> 1) & 3;
      const uint8_t* low = p + 64 * half + 32 * (quarter & 1) + 16 * (j & 1);
      const uint8_t* high = p + 128 + 32 * half + 16 * (j & 1);
      const int shift = 4 * (quarter >> 1);
      for (int i = 0; i < 16; ++i)
        y[i] = dl * static_cast<float>((((low[i] >> shift) & 15) | ((high[i] >> (2 * quarter)) & 3) << 4) - 32);
    }
  }
}

void decode_iq4_xs(const uint8_t* p, int64_t n, float* y) {
  for (int64_t b = 0; b < n / 256; ++b, p += 136) {
    const float d = load_f16(p);
    const int scales_high = load_u16(p + 2);
    for (int j = 0; j < 8; ++j, y += 32) {
      const int scale = (((p[4 + j / 2] >> (4 * (j & 1))) & 15) | ((scales_high >> (2 * j)) & 3) << 4) - 32;
      const float dl = d * static_cast<float>(scale);
      const uint8_t* q = p + 8 + 16 * j;
      for (int i = 0; i < 16; ++i) {
        y[i] = dl * static_cast<float>(kIQ4Values[q[i] & 15]);
        y[16 + i] = dl * static_cast<float>(kIQ4Values[q[i] >> 4]);
      }
    }
  }
}

// Value of an IEEE-like byte with `mantissa` mantissa bits. OCP FP8: E4M3 has no infinity and one NaN a sign, E5M2 is IEEE.
float f8_value(int code, int mantissa, int bias, bool ieee) {
  const int exponent_bits = 7 - mantissa;
  const int exponent = (code >> mantissa) & ((1 << exponent_bits) - 1);
  const int fraction = code & ((1 << mantissa) - 1);
  const bool top = exponent == (1 << exponent_bits) - 1;
  float magnitude;
  if (ieee && top) {
    magnitude = fraction == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  } else if (!ieee && top && fraction == (1 << mantissa) - 1) {
    magnitude = std::numeric_limits<float>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(fraction), 1 - bias - mantissa);
  } else {
    magnitude = std::ldexp(static_cast<float>(fraction + (1 << mantissa)), exponent - bias - mantissa);
  }
  return (code & 0x80) ? -magnitude : magnitude;
}

template <class T>
void decode_plain(const uint8_t* p, int64_t n, float* y, float (*value)(T)) {
  for (int64_t i = 0; i < n; ++i) {
    T v;
    memcpy(&v, p + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
    y[i] = value(v);
  }
}

}  // namespace

namespace dsi::products {

void decode_blocks(Format format, const uint8_t* p, int64_t n, float* y) {
  switch (format) {
    case Format::kF32: return decode_plain<float>(p, n, y, [](float v) { return v; });
    case Format::kF16: return decode_plain<uint16_t>(p, n, y, f16_to_float);
    case Format::kBF16: return decode_plain<uint16_t>(p, n, y, bf16_to_float);
    case Format::kQ4_0: return decode_q4_0(p, n, y);
    case Format::kQ4_1: return decode_q4_1(p, n, y);
    case Format::kQ5_0: return decode_q5_0(p, n, y);
    case Format::kQ5_1: return decode_q5_1(p, n, y);
    case Format::kQ8_0: return decode_q8_0(p, n, y);
    case Format::kQ2_K: return decode_q2_k(p, n, y);
    case Format::kQ3_K: return decode_q3_k(p, n, y);
    case Format::kQ4_K: return decode_q4_k(p, n, y);
    case Format::kQ5_K: return decode_q5_k(p, n, y);
    case Format::kQ6_K: return decode_q6_k(p, n, y);
    case Format::kIQ1_S: return decode_iq1_s(p, n, y);
    case Format::kIQ1_M: return decode_iq1_m(p, n, y);
    case Format::kIQ2_XXS: return decode_iq2_xxs(p, n, y);
    case Format::kIQ2_XS: return decode_iq2_xs(p, n, y);
    case Format::kIQ2_S: return decode_iq2_s(p, n, y);
    case Format::kIQ3_XXS: return decode_iq3_xxs(p, n, y);
    case Format::kIQ3_S: return decode_iq3_s(p, n, y);
    case Format::kIQ4_NL: return decode_iq4_nl(p, n, y);
    case Format::kIQ4_XS: return decode_iq4_xs(p, n, y);
    case Format::kTQ1_0: return decode_tq1_0(p, n, y);
    case Format::kTQ2_0: return decode_tq2_0(p, n, y);
    case Format::kMXFP4: return decode_mxfp4(p, n, y);
    case Format::kNVFP4: return decode_nvfp4(p, n, y);
    case Format::kF8_E4M3: return decode_plain<uint8_t>(p, n, y, [](uint8_t v) { return f8_value(v, 3, 7, false); });
    case Format::kF8_E5M2: return decode_plain<uint8_t>(p, n, y, [](uint8_t v) { return f8_value(v, 2, 15, true); });
    case Format::kINT4_GROUP:
      for (int64_t i = 0; i < n; ++i) y[i] = static_cast<float>((p[i >> 1] >> (4 * (i & 1))) & 15);
      return;
  }
}

}  // namespace dsi::products
