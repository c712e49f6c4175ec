// Codebooks of the IQ formats, expanded once for the decoders.
#pragma once

#include <cstdint>

namespace dsi::products {

extern const uint16_t kIQ2XXSCodebook[256];
extern const uint16_t kIQ2XSCodebook[512];
extern const uint16_t kIQ2SCodebook[1024];
extern const uint16_t kIQ3XXSCodebook[256];
extern const uint16_t kIQ3SCodebook[512];
extern const uint16_t kIQ1SCodebook[2048];

struct DecodeTables {
  int8_t iq2xxs[256][8];
  int8_t iq2xs[512][8];
  int8_t iq2s[1024][8];
  int8_t iq3xxs[256][4];
  int8_t iq3s[512][4];
  int8_t iq1[2048][8];
  uint8_t signs7[128];  // the 7 stored signs and their parity as the eighth
  uint64_t sign_bytes[256];  // 0xff in the bytes whose bit is set
};

// Built on first use (thread-safe).
const DecodeTables& decode_tables();

}  // namespace dsi::products
