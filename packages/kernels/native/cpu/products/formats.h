// Block sizes of the weight formats and which layout each is packed into.
#pragma once

#include <cstdint>

#include "dsi/products.h"

namespace dsi::products {

constexpr int kFormatCount = static_cast<int>(Format::kINT4_GROUP) + 1;

enum class Layout {
  kDense,   // F32, F16: [k][16 rows]; BF16: [k / 2][16 rows][2]
  kVector,  // 16 rows interleaved by 4 k: codes as bytes or bit planes of 64-byte vectors, then scales (vector_formats.h)
  kRows,    // rows of blocks as in the file
};

struct FormatInfo {
  const char* name;
  int block_elements;  // columns a block
  int block_bytes;     // bytes a block in the file
  Layout layout;
};

// static: this header is compiled under several instruction sets, nothing in it may be merged by the linker.
static inline const FormatInfo& format_info(Format format) {
  static constexpr FormatInfo kInfo[kFormatCount] = {
      {"F32", 1, 4, Layout::kDense},        {"F16", 1, 2, Layout::kDense},        {"BF16", 1, 2, Layout::kDense},
      {"Q4_0", 32, 18, Layout::kVector},    {"Q4_1", 32, 20, Layout::kVector},    {"Q5_0", 32, 22, Layout::kVector},
      {"Q5_1", 32, 24, Layout::kVector},    {"Q8_0", 32, 34, Layout::kVector},    {"Q2_K", 256, 84, Layout::kVector},
      {"Q3_K", 256, 110, Layout::kVector},  {"Q4_K", 256, 144, Layout::kVector},  {"Q5_K", 256, 176, Layout::kVector},
      {"Q6_K", 256, 210, Layout::kVector},  {"IQ1_S", 256, 50, Layout::kRows},    {"IQ1_M", 256, 56, Layout::kRows},
      {"IQ2_XXS", 256, 66, Layout::kRows},  {"IQ2_XS", 256, 74, Layout::kRows},   {"IQ2_S", 256, 82, Layout::kRows},
      {"IQ3_XXS", 256, 98, Layout::kRows},  {"IQ3_S", 256, 110, Layout::kRows},   {"IQ4_NL", 32, 18, Layout::kVector},
      {"IQ4_XS", 256, 136, Layout::kVector}, {"TQ1_0", 256, 54, Layout::kRows},   {"TQ2_0", 256, 66, Layout::kRows},
      {"MXFP4", 32, 17, Layout::kVector},   {"NVFP4", 64, 36, Layout::kRows},     {"F8_E4M3", 1, 1, Layout::kRows},
      {"F8_E5M2", 1, 1, Layout::kRows},     {"INT4_GROUP", 2, 1, Layout::kRows},
  };
  return kInfo[static_cast<int>(format)];
}

}  // namespace dsi::products
