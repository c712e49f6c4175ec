// Plain decoding of the file's layout: the oracle that packed weights are checked against.
#pragma once

#include "formats.h"

namespace dsi::products {

// n values (whole blocks) from `p`, bit-exact with gguf-py's dequantisation. F8 values without their block scales, INT4_GROUP as codes.
void decode_blocks(Format format, const uint8_t* p, int64_t n, float* y);

}  // namespace dsi::products
