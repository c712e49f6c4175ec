#include "iq_codebooks.h"

namespace dsi::products {
namespace {

template <int kValues, int kBits, int kEntries>
void expand(const uint16_t (&codebook)[kEntries], const int8_t* levels, int8_t (&out)[kEntries][kValues]) {
  for (int e = 0; e < kEntries; ++e)
    for (int i = 0; i < kValues; ++i) out[e][i] = levels[(codebook[e] >> (kBits * i)) & ((1 << kBits) - 1)];
}

DecodeTables build() {
  static const int8_t kIQ2Levels[4] = {8, 25, 43, 0};
  static const int8_t kIQ3XXSLevels[16] = {4, 12, 20, 28, 36, 44, 52, 62};
  static const int8_t kIQ3SLevels[16] = {1, 3, 5, 7, 9, 11, 13, 15};
  static const int8_t kIQ1Levels[4] = {-1, 0, 1, 0};
  DecodeTables t{};
  expand<8, 2>(kIQ2XXSCodebook, kIQ2Levels, t.iq2xxs);
  expand<8, 2>(kIQ2XSCodebook, kIQ2Levels, t.iq2xs);
  expand<8, 2>(kIQ2SCodebook, kIQ2Levels, t.iq2s);
  expand<4, 4>(kIQ3XXSCodebook, kIQ3XXSLevels, t.iq3xxs);
  expand<4, 4>(kIQ3SCodebook, kIQ3SLevels, t.iq3s);
  expand<8, 2>(kIQ1SCodebook, kIQ1Levels, t.iq1);
  for (int signs = 0; signs < 256; ++signs)
    for (int b = 0; b < 8; ++b)
      if ((signs >> b) & 1) t.sign_bytes[signs] |= uint64_t{0xff} << (8 * b);
  for (int i = 0; i < 128; ++i) {
    int ones = 0;
    for (int b = 0; b < 7; ++b) ones += (i >> b) & 1;
    t.signs7[i] = static_cast<uint8_t>(i | ((ones & 1) << 7));
  }
  return t;
}

}  // namespace

const DecodeTables& decode_tables() {
  static const DecodeTables tables = build();
  return tables;
}

}  // namespace dsi::products
