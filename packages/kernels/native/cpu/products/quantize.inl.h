// Quantisation of one activation row, and SiLU. Included after a simd.h.
#pragma once

#include "kernel_table.h"

namespace {

using dsi::products::ActivationKind;
using dsi::products::ActivationRow;

constexpr int32_t kInfinityBits = 0x7f800000;

struct BlockScale {
  float scale;    // NaN when the block holds a NaN or an infinity
  float inverse;  // 0 then, and for blocks of (nearly) nothing
};

DSI_INLINE BlockScale block_scale(int32_t magnitude_bits) {
  const float largest = bits_to_float(static_cast<uint32_t>(magnitude_bits));
  if (magnitude_bits >= kInfinityBits) return {bits_to_float(0x7fc00000u), 0.0f};
  if (largest < 1e-35f) return {0.0f, 0.0f};  // 127 / largest would overflow
  return {largest / 127.0f, 127.0f / largest};
}

// Largest magnitude's bits of n (a multiple of 16) values: an integer maximum, so that NaN and infinity come out on top.
DSI_INLINE int32_t magnitude(const float* x, int n) {
  Int largest = zero();
  for (int i = 0; i < n; i += 16) largest = maxi(largest, band(as_int(loadf(x + i)), set1(0x7fffffff)));
  return max_lane(largest);
}

// Quantises 16 values, returns the sum of the codes.
DSI_INLINE int32_t quantize16(const float* x, float inverse, bool finite, uint8_t* q) {
  const Int codes = finite ? round_to_int(mulf(loadf(x), set1f(inverse))) : zero();
  store_int8(q, codes);
  return sum_lanes(codes);
}

void quantize_block32(const float* x, int64_t k, const ActivationRow& out) {
  for (int64_t b = 0; b < k / 32; ++b) {
    const int64_t chunk = b / 8, i = b % 8;
    uint8_t* q = out.q + chunk * out.q_chunk + 32 * i;
    const int32_t bits = magnitude(x + 32 * b, 32);
    const BlockScale s = block_scale(bits);
    int32_t sum = 0;
    for (int h = 0; h < 32; h += 16) sum += quantize16(x + 32 * b + h, s.inverse, bits < kInfinityBits, q + h);
    out.scales[chunk * out.scale_chunk + i] = s.scale;
    out.scaled_sums[chunk * out.scale_chunk + i] = s.scale * static_cast<float>(sum);
    out.sums[chunk * out.sums_chunk + i] = -sum;
  }
}

DSI_INLINE int32_t pair_of(int32_t low, int32_t high) {
  return static_cast<int32_t>((static_cast<uint32_t>(low) & 0xffffu) | static_cast<uint32_t>(high) << 16);
}

void quantize_super(const float* x, int64_t k, const ActivationRow& out) {
  for (int64_t b = 0; b < k / 256; ++b) {
    const float* p = x + 256 * b;
    const int32_t bits = magnitude(p, 256);
    const BlockScale s = block_scale(bits);
    int32_t sums[16], sums32[8];
    for (int i = 0; i < 16; ++i) sums[i] = -quantize16(p + 16 * i, s.inverse, bits < kInfinityBits, out.q + b * out.q_chunk + 16 * i);
    for (int i = 0; i < 8; ++i) sums32[i] = sums[2 * i] + sums[2 * i + 1];
    int32_t* pairs = out.sums + b * out.sums_chunk;
    for (int i = 0; i < 8; ++i) pairs[i] = pair_of(sums[4 * (i >> 1) + (i & 1)], sums[4 * (i >> 1) + (i & 1) + 2]);
    for (int i = 0; i < 4; ++i) pairs[8 + i] = pair_of(sums32[4 * (i >> 1) + (i & 1)], sums32[4 * (i >> 1) + (i & 1) + 2]);
    out.scales[b * out.scale_chunk] = s.scale;
  }
}

// Nearest even, NaN stays NaN. Pads to an even count with zero.
void convert_bf16(const float* x, int64_t k, uint8_t* q) {
  int64_t i = 0;
#ifdef __AVX512BF16__
  for (; i + 16 <= k; i += 16) store_bf16(q + 2 * i, loadf(x + i));
#endif
  for (; i < k; ++i) {
    uint32_t bits;
    memcpy(&bits, x + i, 4);
    uint32_t h;
    if ((bits & 0x7fffffffu) > 0x7f800000u) {
      h = bits >> 16 | 0x40u;
    } else if ((bits & 0x7f800000u) == 0) {
      h = bits >> 16 & 0x8000u;  // subnormals are zero, as in the vector conversion
    } else {
      h = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    }
    const uint16_t half = static_cast<uint16_t>(h);
    memcpy(q + 2 * i, &half, 2);
  }
  if (k & 1) memset(q + 2 * k, 0, 2);
}

void quantize_row(ActivationKind kind, const float* x, int64_t k, const ActivationRow& out) {
  switch (kind) {
    case ActivationKind::kBlock32: return quantize_block32(x, k, out);
    case ActivationKind::kSuper: return quantize_super(x, k, out);
    case ActivationKind::kBF16: return convert_bf16(x, k, out.q);
    case ActivationKind::kF32: return;
  }
}

// e^x for finite or NaN x <= 0: 2^n p(f), |f| <= ln2 / 2, Taylor to degree 7 (relative error below 2e-7... of f32).
DSI_INLINE Float exp_nonpositive(Float x) {
  const Float clamped = maxf(set1f(-87.0f), x);  // NaN stays: maxf gives its second operand
  const Int n = round_to_int(mulf(clamped, set1f(1.44269504f)));
  const Float nf = convert(n);
  Float f = fma(nf, set1f(-0.693145752f), clamped);
  f = fma(nf, set1f(-1.42860677e-6f), f);
  Float p = set1f(1.0f / 5040.0f);
  p = fma(p, f, set1f(1.0f / 720.0f));
  p = fma(p, f, set1f(1.0f / 120.0f));
  p = fma(p, f, set1f(1.0f / 24.0f));
  p = fma(p, f, set1f(1.0f / 6.0f));
  p = fma(p, f, set1f(0.5f));
  p = fma(p, f, set1f(1.0f));
  p = fma(p, f, set1f(1.0f));
  return mulf(p, as_float(shl<23>(add(n, set1(127)))));
}

// g / (1 + e^-g) * u, with e^-|g| so that nothing overflows.
DSI_INLINE Float silu_mul16(Float g, Float u) {
  const Int sign = band(as_int(g), set1(static_cast<int32_t>(0x80000000u)));
  const Float e = exp_nonpositive(as_float(bor(as_int(g), set1(static_cast<int32_t>(0x80000000u)))));  // e^-|g|
  // sigmoid(g) = 1 / (1 + e) for g >= 0, e / (1 + e) for g < 0
  const Int negative = sar<31>(sign);
  const Float numerator = as_float(bor(band(as_int(e), negative), sub(as_int(set1f(1.0f)), band(as_int(set1f(1.0f)), negative))));
  return mulf(mulf(g, divf(numerator, addf(set1f(1.0f), e))), u);
}

void silu_mul(const float* gate, const float* up, int64_t n, float* h) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) storef(h + i, silu_mul16(loadf(gate + i), loadf(up + i)));
  if (i < n) {
    float g[16] = {}, u[16] = {}, y[16];
    memcpy(g, gate + i, static_cast<size_t>(n - i) * 4);
    memcpy(u, up + i, static_cast<size_t>(n - i) * 4);
    storef(y, silu_mul16(loadf(g), loadf(u)));
    memcpy(h + i, y, static_cast<size_t>(n - i) * 4);
  }
}

}  // namespace
