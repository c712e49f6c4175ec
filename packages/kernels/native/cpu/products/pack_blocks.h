#pragma once

#include "vector_layout.h"

namespace dsi::products {

// Packs one block of 16 rows. rows[r] points at row r's block in the file, null for rows past the end (they become zeros).
// Writes code_bytes(layout) to codes and meta_bytes(layout) to meta.
void pack_block(Format format, const uint8_t* const rows[16], uint8_t* codes, uint8_t* meta);

}  // namespace dsi::products
