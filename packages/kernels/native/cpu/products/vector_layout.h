// Byte layout of Layout::kVector. A row group (16 rows) is: codes of all blocks, then scales of all blocks ("meta").
//
// A code vector is 64 bytes: byte 4 r + j is the unsigned code of row r at column 4 s + j. 32 columns are code vectors s = 0 .. 7.
// Planes that make up the codes of 32 columns, in this order:
//   bytes    8 vectors: the codes
//   nibbles  4 vectors: vector v = code vector v in the low, v + 4 in the high nibble
//   pairs    2 vectors: 2-bit field f of vector u = code vector u + 2 f
//   bits     1 vector:  bit s = code vector s
// Weights are codes minus 2^bias. Meta of a block: f16 d of 16 rows (MXFP4: one exponent byte a row), then f16 m or dmin where there is one,
// then sub-block scales as words: word i of row r in lane r of vector i.
#pragma once

#include <stdint.h>

#include "formats.h"

namespace dsi::products {

struct VectorLayout {
  int block;         // columns: 32 or 256
  int bytes, nibbles, pairs, bits;  // vectors of each plane per 32 columns
  int halves;        // f16 a row: 1 (d) or 2 (d and m); 0 = one exponent byte
  int words;         // 32-bit words of sub-block scales a row
};

static constexpr VectorLayout vector_layout(Format format) {
  switch (format) {
    case Format::kQ4_0: return {32, 0, 4, 0, 0, 1, 0};
    case Format::kQ4_1: return {32, 0, 4, 0, 0, 2, 0};
    case Format::kQ5_0: return {32, 0, 4, 0, 1, 1, 0};
    case Format::kQ5_1: return {32, 0, 4, 0, 1, 2, 0};
    case Format::kQ8_0: return {32, 8, 0, 0, 0, 1, 0};
    case Format::kIQ4_NL: return {32, 0, 4, 0, 0, 1, 0};
    case Format::kMXFP4: return {32, 0, 4, 0, 0, 0, 0};
    case Format::kQ2_K: return {256, 0, 0, 2, 0, 2, 4};
    case Format::kQ3_K: return {256, 0, 0, 2, 1, 1, 3};
    case Format::kQ4_K: return {256, 0, 4, 0, 0, 2, 3};
    case Format::kQ5_K: return {256, 0, 4, 0, 1, 2, 3};
    case Format::kQ6_K: return {256, 0, 4, 2, 0, 1, 4};
    case Format::kIQ4_XS: return {256, 0, 4, 0, 0, 2, 1};  // second half: the high bits of the scales
    default: return {0, 0, 0, 0, 0, 0, 0};
  }
}

static constexpr int code_bytes(const VectorLayout& l) { return (l.block / 32) * 64 * (l.bytes + l.nibbles + l.pairs + l.bits); }
static constexpr int meta_bytes(const VectorLayout& l) { return 16 * (l.halves == 0 ? 1 : 2 * l.halves) + 64 * l.words; }

}  // namespace dsi::products
