// From the file's blocks to vector_layout.h: first the 8-bit codes of one row's 32 columns, then the planes.
#include "pack_blocks.h"

#include <cstring>

namespace dsi::products {
namespace {

uint32_t word(const uint8_t* p) {
  uint32_t v;
  std::memcpy(&v, p, 4);
  return v;
}

// Codes of columns [32 j, 32 j + 32) of one row's block as 8 words of 4 codes. A template, so that a format's shifts are constants: packing
// is what loading a model waits for.
template <Format format>
inline void row_codes(const uint8_t* p, int j, uint32_t codes[8]) {
  constexpr uint32_t kNibble = 0x0f0f0f0fu;
  const auto nibbles16 = [&](const uint8_t* q) {  // 16 bytes: columns i and i + 16
    for (int v = 0; v < 4; ++v) {
      codes[v] = word(q + 4 * v) & kNibble;
      codes[v + 4] = (word(q + 4 * v) >> 4) & kNibble;
    }
  };
  const auto high_bits32 = [&](uint32_t bits) {  // bit i = bit 4 of column i
    // The product puts the four bits of a nibble into the lowest bit of each byte.
    for (int v = 0; v < 8; ++v) codes[v] |= ((((bits >> (4 * v)) & 15u) * 0x00204081u) & 0x01010101u) << 4;
  };
  const auto nibbles32 = [&](const uint8_t* q, int shift) {  // 32 bytes, one nibble of each
    for (int v = 0; v < 8; ++v) codes[v] = (word(q + 4 * v) >> shift) & kNibble;
  };
  const auto pairs32 = [&](const uint8_t* q, int shift) {
    for (int v = 0; v < 8; ++v) codes[v] = (word(q + 4 * v) >> shift) & 0x03030303u;
  };
  switch (format) {
    case Format::kQ4_0: case Format::kIQ4_NL: nibbles16(p + 2); break;
    case Format::kQ4_1: nibbles16(p + 4); break;
    case Format::kMXFP4: nibbles16(p + 1); break;
    case Format::kQ5_0: nibbles16(p + 6); high_bits32(word(p + 2)); break;
    case Format::kQ5_1: nibbles16(p + 8); high_bits32(word(p + 4)); break;
    case Format::kQ8_0:
      for (int v = 0; v < 8; ++v) codes[v] = word(p + 2 + 4 * v) ^ 0x80808080u;
      break;
    case Format::kQ2_K: pairs32(p + 16 + 32 * (j >> 2), 2 * (j & 3)); break;
    case Format::kQ3_K:
      pairs32(p + 32 + 32 * (j >> 2), 2 * (j & 3));
      for (int v = 0; v < 8; ++v) codes[v] |= ((word(p + 4 * v) >> j) & 0x01010101u) << 2;
      break;
    case Format::kQ4_K: nibbles32(p + 16 + 32 * (j >> 1), 4 * (j & 1)); break;
    case Format::kQ5_K:
      nibbles32(p + 48 + 32 * (j >> 1), 4 * (j & 1));
      for (int v = 0; v < 8; ++v) codes[v] |= ((word(p + 16 + 4 * v) >> j) & 0x01010101u) << 4;
      break;
    case Format::kQ6_K: {
      const int half = j >> 2, quarter = j & 3;
      nibbles32(p + 64 * half + 32 * (quarter & 1), 4 * (quarter >> 1));
      for (int v = 0; v < 8; ++v)
        codes[v] |= ((word(p + 128 + 32 * half + 4 * v) >> (2 * quarter)) & 0x03030303u) << 4;
      break;
    }
    case Format::kIQ4_XS: nibbles16(p + 8 + 16 * j); break;
    default: break;
  }
}

struct MetaOffsets {
  int halves[2];
  int words;
};

constexpr MetaOffsets meta_offsets(Format format) {
  switch (format) {
    case Format::kQ4_1: case Format::kQ5_1: return {{0, 2}, 0};
    case Format::kQ2_K: return {{80, 82}, 0};
    case Format::kQ3_K: return {{108, 0}, 96};
    case Format::kQ4_K: case Format::kQ5_K: return {{0, 2}, 4};
    case Format::kQ6_K: return {{208, 0}, 192};
    case Format::kIQ4_XS: return {{0, 2}, 4};
    default: return {{0, 0}, 0};
  }
}

template <Format format>
void pack(const uint8_t* const rows[16], uint8_t* codes, uint8_t* meta) {
  constexpr VectorLayout layout = vector_layout(format);
  std::memset(codes, 0, static_cast<size_t>(code_bytes(layout)));
  std::memset(meta, 0, static_cast<size_t>(meta_bytes(layout)));
  constexpr MetaOffsets offsets = meta_offsets(format);
  constexpr int low_bits = layout.pairs != 0 && layout.nibbles == 0 ? 2 : 4;  // bits in the first plane
  for (int r = 0; r < 16; ++r) {
    const uint8_t* p = rows[r];
    if (p == nullptr) continue;
    for (int j = 0; j < layout.block / 32; ++j) {
      uint32_t c[8];
      row_codes<format>(p, j, c);
      uint8_t* out = codes + static_cast<ptrdiff_t>(j) * (code_bytes(layout) / (layout.block / 32)) + 4 * r;
      for (int v = 0; v < layout.bytes; ++v, out += 64) std::memcpy(out, &c[v], 4);
      for (int v = 0; v < layout.nibbles; ++v, out += 64) {
        const uint32_t plane = (c[v] & 0x0f0f0f0fu) | (c[v + 4] & 0x0f0f0f0fu) << 4;
        std::memcpy(out, &plane, 4);
      }
      constexpr int pair_shift = layout.nibbles != 0 ? 4 : 0;
      for (int u = 0; u < layout.pairs; ++u, out += 64) {
        uint32_t plane = 0;
        for (int f = 0; f < 4; ++f) plane |= ((c[u + 2 * f] >> pair_shift) & 0x03030303u) << (2 * f);
        std::memcpy(out, &plane, 4);
      }
      if (layout.bits != 0) {
        uint32_t plane = 0;
        for (int s = 0; s < 8; ++s) plane |= ((c[s] >> low_bits) & 0x01010101u) << s;
        std::memcpy(out, &plane, 4);
      }
    }
    if (layout.halves == 0) meta[r] = p[0];
    for (int h = 0; h < layout.halves; ++h) std::memcpy(meta + 32 * h + 2 * r, p + offsets.halves[h], 2);
    for (int i = 0; i < layout.words; ++i)
      std::memcpy(meta + 32 * layout.halves + 64 * i + 4 * r, p + offsets.words + 4 * i, 4);
  }
}

}  // namespace

void pack_block(Format format, const uint8_t* const rows[16], uint8_t* codes, uint8_t* meta) {
  switch (format) {
    case Format::kQ4_0: return pack<Format::kQ4_0>(rows, codes, meta);
    case Format::kQ4_1: return pack<Format::kQ4_1>(rows, codes, meta);
    case Format::kQ5_0: return pack<Format::kQ5_0>(rows, codes, meta);
    case Format::kQ5_1: return pack<Format::kQ5_1>(rows, codes, meta);
    case Format::kQ8_0: return pack<Format::kQ8_0>(rows, codes, meta);
    case Format::kIQ4_NL: return pack<Format::kIQ4_NL>(rows, codes, meta);
    case Format::kMXFP4: return pack<Format::kMXFP4>(rows, codes, meta);
    case Format::kQ2_K: return pack<Format::kQ2_K>(rows, codes, meta);
    case Format::kQ3_K: return pack<Format::kQ3_K>(rows, codes, meta);
    case Format::kQ4_K: return pack<Format::kQ4_K>(rows, codes, meta);
    case Format::kQ5_K: return pack<Format::kQ5_K>(rows, codes, meta);
    case Format::kQ6_K: return pack<Format::kQ6_K>(rows, codes, meta);
    case Format::kIQ4_XS: return pack<Format::kIQ4_XS>(rows, codes, meta);
    default: return;  // not of the vector layout: pack.cc does not come here
  }
}

}  // namespace dsi::products
