// Unpacking of vector_layout.h in registers: codes, scales, dequantised values. Included after a simd.h.
#pragma once

#include "half.h"
#include "vector_layout.h"

namespace {

using dsi::products::code_bytes;
using dsi::Format;
using dsi::products::meta_bytes;
using dsi::products::vector_layout;
using dsi::products::VectorLayout;

constexpr uint8_t kIQ4Codes[16] = {1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241};  // value + 128
constexpr uint8_t kE2M1Codes[16] = {16, 17, 18, 19, 20, 22, 24, 28, 16, 15, 14, 13, 12, 10, 8, 4};            // value + 16

template <Format F>
struct VectorFormat {
  static constexpr VectorLayout kLayout = vector_layout(F);
  static constexpr int kCodeBytes = code_bytes(kLayout);
  static constexpr int kMetaBytes = meta_bytes(kLayout);
  static constexpr int kCodeBytes32 = kCodeBytes / (kLayout.block / 32);
  static constexpr bool kTable = F == Format::kIQ4_NL || F == Format::kIQ4_XS || F == Format::kMXFP4;
  static constexpr int kMax = F == Format::kIQ4_NL || F == Format::kIQ4_XS || kLayout.bytes != 0 ? 255
                              : F == Format::kMXFP4                                              ? 31
                              : kLayout.nibbles == 0 ? (kLayout.bits != 0 ? 7 : 3)
                              : kLayout.pairs != 0   ? 63
                              : kLayout.bits != 0    ? 31
                                                     : 15;
  // log2 of what the codes exceed the values by, -1 when they do not (formats with a minimum).
  static constexpr int kBias = F == Format::kQ4_0                          ? 3
                               : F == Format::kQ5_0 || F == Format::kMXFP4 ? 4
                               : kMax == 255                               ? 7
                               : F == Format::kQ3_K                        ? 2
                               : F == Format::kQ6_K                        ? 5
                                                                           : -1;
  static constexpr bool kHasMin = kBias < 0;
  // Whether the byte products are of codes, so that 2^bias times the activations' sum must be taken off.
  static constexpr bool kCorrected = !kHasMin && !(kSignedBytes && kMax == 255);
  static constexpr int kSub = F == Format::kQ2_K || F == Format::kQ3_K || F == Format::kQ6_K ? 16 : 32;
  static constexpr int kSubs = 256 / kSub;
  static constexpr int kPairs = kSubs / 2;
  static constexpr int kPairOffset = kSub == 16 ? 0 : 8;  // in the activations' pair words

  // Code vectors of 32 columns.
  static DSI_INLINE void unpack(const uint8_t* p, Int w[8]) {
    if constexpr (kLayout.bytes != 0) {
      for (int s = 0; s < 8; ++s) w[s] = load(p + 64 * s);
      return;
    }
    if constexpr (kLayout.nibbles != 0) {
      const Int mask = set1(0x0f0f0f0f);
      for (int v = 0; v < 4; ++v) {
        const Int x = load(p + 64 * v);
        w[v] = band(x, mask);
        w[v + 4] = band(shr<4>(x), mask);
      }
    }
    const uint8_t* next = p + 64 * kLayout.nibbles;
    if constexpr (kLayout.pairs != 0 && kLayout.nibbles == 0) {
      const Int mask = set1(0x03030303);
      for (int u = 0; u < 2; ++u) {
        const Int x = load(next + 64 * u);
        w[u] = band(x, mask);
        w[u + 2] = band(shr<2>(x), mask);
        w[u + 4] = band(shr<4>(x), mask);
        w[u + 6] = band(shr<6>(x), mask);
      }
    } else if constexpr (kLayout.pairs != 0) {
      const Int mask = set1(0x30303030);
      for (int u = 0; u < 2; ++u) {
        const Int x = load(next + 64 * u);
        w[u] = band_or(shl<4>(x), mask, w[u]);
        w[u + 2] = band_or(shl<2>(x), mask, w[u + 2]);
        w[u + 4] = band_or(x, mask, w[u + 4]);
        w[u + 6] = band_or(shr<2>(x), mask, w[u + 6]);
      }
    }
    if constexpr (kLayout.bits != 0 && kLayout.nibbles != 0) {
      const Int x = load(next + 64 * kLayout.pairs), mask = set1(0x10101010);
      w[0] = band_or(shl<4>(x), mask, w[0]);
      w[1] = band_or(shl<3>(x), mask, w[1]);
      w[2] = band_or(shl<2>(x), mask, w[2]);
      w[3] = band_or(shl<1>(x), mask, w[3]);
      w[4] = band_or(x, mask, w[4]);
      w[5] = band_or(shr<1>(x), mask, w[5]);
      w[6] = band_or(shr<2>(x), mask, w[6]);
      w[7] = band_or(shr<3>(x), mask, w[7]);
    } else if constexpr (kLayout.bits != 0) {
      const Int x = load(next + 64 * kLayout.pairs), mask = set1(0x04040404);
      w[0] = band_or(shl<2>(x), mask, w[0]);
      w[1] = band_or(shl<1>(x), mask, w[1]);
      w[2] = band_or(x, mask, w[2]);
      w[3] = band_or(shr<1>(x), mask, w[3]);
      w[4] = band_or(shr<2>(x), mask, w[4]);
      w[5] = band_or(shr<3>(x), mask, w[5]);
      w[6] = band_or(shr<4>(x), mask, w[6]);
      w[7] = band_or(shr<5>(x), mask, w[7]);
    }
    if constexpr (kTable) {
      const Table table = load_table(F == Format::kMXFP4 ? kE2M1Codes : kIQ4Codes);
      for (int s = 0; s < 8; ++s) w[s] = lookup(table, w[s]);
    }
  }

  static DSI_INLINE Float scale(const uint8_t* meta) {
    if constexpr (kLayout.halves == 0) {  // 2^(e - 128)
      const Int e = load_bytes(meta);
      const Int normal = shl<23>(sub(e, set1(1)));
      // e = 0 and 1 are subnormal: 2^-128 and 2^-127 are bits 21 and 22.
      const Int small = shl<21>(add(e, set1(1)));
      const Int is_small = sar<31>(sub(e, set1(2)));
      return as_float(bor(band(small, is_small), sub(normal, band(normal, is_small))));
    } else {
      return load_halves(meta);
    }
  }
  static DSI_INLINE Float min(const uint8_t* meta) { return load_halves(meta + 32); }
};

// Scales of a super-block of 16 rows. sub[j]: integer scale of sub-block j. pairs: what multiplies the activations' sums of the sub-blocks,
// the minima or (formats with a bias) the scales again, as int16 pairs in the activations' order.
template <Format F>
struct SuperScales {
  using V = VectorFormat<F>;
  Int sub[V::kSubs];
  Int pairs[V::kPairs];
  Float d, dmin;

  DSI_INLINE void quad(int q, Int bytes, int mask) {
    sub[4 * q] = band(bytes, set1(mask));
    sub[4 * q + 1] = band(shr<8>(bytes), set1(mask));
    sub[4 * q + 2] = band(shr<16>(bytes), set1(mask));
    sub[4 * q + 3] = band(shr<24>(bytes), set1(mask));
  }

  DSI_INLINE explicit SuperScales(const uint8_t* meta) {
    d = load_halves(meta);
    dmin = d;
    const uint8_t* words = meta + 32 * V::kLayout.halves;
    if constexpr (F == Format::kQ4_K || F == Format::kQ5_K) {
      dmin = load_halves(meta + 32);
      const Int a = load(words), b = load(words + 64), c = load(words + 128);
      const Int low6 = set1(0x3f3f3f3f), low4 = set1(0x0f0f0f0f), top2 = set1(0x30303030), pair = set1(0x00ff00ff);
      quad(0, band(a, low6), 255);
      quad(1, band_or(shr<2>(a), top2, band(c, low4)), 255);
      const Int m0 = band(b, low6), m1 = band_or(shr<2>(b), top2, band(shr<4>(c), low4));
      pairs[0] = band(m0, pair);
      pairs[1] = band(shr<8>(m0), pair);
      pairs[2] = band(m1, pair);
      pairs[3] = band(shr<8>(m1), pair);
    } else if constexpr (F == Format::kQ2_K) {
      dmin = load_halves(meta + 32);
      for (int q = 0; q < 4; ++q) {
        const Int x = load(words + 64 * q);
        quad(q, x, 15);
        pairs[2 * q] = band(shr<4>(x), set1(0x000f000f));
        pairs[2 * q + 1] = band(shr<12>(x), set1(0x000f000f));
      }
    } else if constexpr (F == Format::kQ3_K) {
      const Int low4 = set1(0x0f0f0f0f), low2 = set1(0x30303030), bias = set1(32), bias16 = set1(0x00200020);
      const Int w0 = load(words), w1 = load(words + 64), h = load(words + 128);
      const Int quads[4] = {band_or(shl<4>(h), low2, band(w0, low4)), band_or(shl<2>(h), low2, band(w1, low4)),
                            band_or(h, low2, band(shr<4>(w0), low4)), band_or(shr<2>(h), low2, band(shr<4>(w1), low4))};
      for (int q = 0; q < 4; ++q) {
        quad(q, quads[q], 255);
        for (int j = 4 * q; j < 4 * q + 4; ++j) sub[j] = ::sub(sub[j], bias);
        pairs[2 * q] = sub16(band(quads[q], set1(0x00ff00ff)), bias16);
        pairs[2 * q + 1] = sub16(band(shr<8>(quads[q]), set1(0x00ff00ff)), bias16);
      }
    } else if constexpr (F == Format::kQ6_K) {
      for (int q = 0; q < 4; ++q) {
        const Int x = load(words + 64 * q);
        sub[4 * q] = sar<24>(shl<24>(x));
        sub[4 * q + 1] = sar<24>(shl<16>(x));
        sub[4 * q + 2] = sar<24>(shl<8>(x));
        sub[4 * q + 3] = sar<24>(x);
        pairs[2 * q] = sar16<8>(shl16<8>(x));
        pairs[2 * q + 1] = sar16<8>(x);
      }
    } else if constexpr (F == Format::kIQ4_XS) {
      const Int high = load_words16(meta + 32), low = load(words);
      const Int nibble = set1(15), top2 = set1(0x30), bias = set1(32);
      sub[0] = ::sub(band_or(shl<4>(high), top2, band(low, nibble)), bias);
      sub[1] = ::sub(band_or(shl<2>(high), top2, band(shr<4>(low), nibble)), bias);
      sub[2] = ::sub(band_or(high, top2, band(shr<8>(low), nibble)), bias);
      sub[3] = ::sub(band_or(shr<2>(high), top2, band(shr<12>(low), nibble)), bias);
      sub[4] = ::sub(band_or(shr<4>(high), top2, band(shr<16>(low), nibble)), bias);
      sub[5] = ::sub(band_or(shr<6>(high), top2, band(shr<20>(low), nibble)), bias);
      sub[6] = ::sub(band_or(shr<8>(high), top2, band(shr<24>(low), nibble)), bias);
      sub[7] = ::sub(band_or(shr<10>(high), top2, band(shr<28>(low), nibble)), bias);
      for (int p = 0; p < 4; ++p) {
        const int j = 4 * (p >> 1) + (p & 1);
        pairs[p] = bor(band(sub[j], set1(0xffff)), shl<16>(sub[j + 2]));
      }
    }
  }

  // Minimum of sub-block j.
  DSI_INLINE Int min(int j) const {
    const Int pair = pairs[2 * (j >> 2) + (j & 1)];
    return (j & 2) ? shr<16>(pair) : band(pair, set1(0xffff));
  }
};

template <Format F>
DSI_INLINE Float code_value(Int w, int byte) {
  using V = VectorFormat<F>;
  const Int shifted = byte == 0 ? w : byte == 1 ? shr<8>(w) : byte == 2 ? shr<16>(w) : shr<24>(w);
  const Int code = band(shifted, set1(255));
  if constexpr (V::kHasMin) {
    return convert(code);
  } else {
    return convert(::sub(code, set1(1 << V::kBias)));
  }
}

// Columns of one block of 16 rows as [block][16] floats: exactly what the decoders give.
template <Format F>
void dequantize_block(const uint8_t* codes, const uint8_t* meta, float* out) {
  using V = VectorFormat<F>;
  Int w[8];
  if constexpr (V::kLayout.block == 32) {
    const Float d = V::scale(meta);
    V::unpack(codes, w);
    for (int s = 0; s < 8; ++s)
      for (int i = 0; i < 4; ++i) {
        Float v = mulf(d, code_value<F>(w[s], i));
        if constexpr (V::kHasMin) v = addf(v, V::min(meta));
        storef(out + 16 * (4 * s + i), v);
      }
  } else {
    const SuperScales<F> scales(meta);
    for (int j = 0; j < 8; ++j) {
      V::unpack(codes + j * V::kCodeBytes32, w);
      for (int half = 0; half < 2; ++half) {
        const int sub = V::kSub == 32 ? j : 2 * j + half;
        const Float dl = mulf(scales.d, convert(scales.sub[sub]));
        Float ml = dl;
        if constexpr (V::kHasMin) ml = mulf(scales.dmin, convert(scales.min(sub)));
        for (int s = 4 * half; s < 4 * half + 4; ++s)
          for (int i = 0; i < 4; ++i) {
            Float v = mulf(dl, code_value<F>(w[s], i));
            if constexpr (V::kHasMin) v = subf(v, ml);
            storef(out + 16 * (32 * j + 4 * s + i), v);
          }
      }
    }
  }
}

}  // namespace
