// Test support: checks that count, random weights of every format and their dequantised values.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "../cpu/products/decode.h"
#include "dsi/isa.h"
#include "dsi/products.h"

namespace test {

extern int failures;
extern int checks;

inline bool check(bool ok, const std::string& what) {
  ++checks;
  if (!ok) {
    ++failures;
    std::fprintf(stderr, "FAILED: %s\n", what.c_str());
  }
  return ok;
}

// xorshift64*
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 1) {}
  uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1dull;
  }
  uint8_t byte() { return static_cast<uint8_t>(next() >> 56); }
  float uniform() { return static_cast<float>(next() >> 40) * 0x1p-24f; }  // [0, 1)
  float symmetric() { return 2.0f * uniform() - 1.0f; }

 private:
  uint64_t state_;
};

// A source with its memory, and what it stands for.
struct Weight {
  dsi::Format format;
  int64_t groups, rows, cols;
  std::vector<uint8_t> data;
  std::vector<float> scales, zeros;
  std::vector<int32_t> perm;
  int64_t block_rows = 0, block_cols = 0, group_size = 0;
  std::vector<float> values;  // [groups, rows, cols], with perm undone

  dsi::WeightSource source() const;
};

Weight random_weight(dsi::Format format, int64_t groups, int64_t rows, int64_t cols, uint64_t seed, bool with_perm = false);
std::vector<float> random_activations(int64_t count, uint64_t seed);

constexpr int kFormats = static_cast<int>(dsi::Format::kINT4_GROUP) + 1;
const char* format_name(dsi::Format format);
// Columns that are awkward for the format: not a multiple of 256 where its blocks allow it.
int64_t odd_columns(dsi::Format format);

std::vector<dsi::Isa> isas();  // that this machine has

inline bool same_bits(const float* a, const float* b, size_t n) { return std::memcmp(a, b, n * sizeof(float)) == 0; }

void decode_tests();
void linear_tests();
void moe_tests();
void refusal_tests();

}  // namespace test
