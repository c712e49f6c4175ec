#include "products_harness.h"

#include "../cpu/products/formats.h"

namespace test {

int failures = 0;
int checks = 0;

namespace {

using dsi::Format;

void put_half(uint8_t* p, Random& random) {  // f16 between 2^-9 and 2^-5, either sign
  const uint64_t r = random.next();
  const uint16_t h = static_cast<uint16_t>((6 + r % 4) << 10 | ((r >> 8) & 0x3ff) | ((r >> 20) & 1) << 15);
  std::memcpy(p, &h, 2);
}

// Where a format's f16 scales are in a block; what is not a scale may hold any bits.
std::vector<int> half_offsets(Format format) {
  switch (format) {
    case Format::kQ4_0: case Format::kQ5_0: case Format::kQ8_0: case Format::kIQ4_NL: case Format::kIQ4_XS: case Format::kIQ1_S:
    case Format::kIQ2_XXS: case Format::kIQ2_XS: case Format::kIQ2_S: case Format::kIQ3_XXS: case Format::kIQ3_S:
      return {0};
    case Format::kQ4_1: case Format::kQ5_1: case Format::kQ4_K: case Format::kQ5_K: return {0, 2};
    case Format::kQ2_K: return {80, 82};
    case Format::kQ3_K: return {108};
    case Format::kQ6_K: return {208};
    case Format::kTQ1_0: return {52};
    case Format::kTQ2_0: return {64};
    case Format::kF16: return {0};
    default: return {};
  }
}

void fill_block(Format format, uint8_t* p, int bytes, Random& random) {
  for (int i = 0; i < bytes; ++i) p[i] = random.byte();
  for (int offset : half_offsets(format)) put_half(p + offset, random);
  switch (format) {
    case Format::kF32: {
      const float v = random.symmetric();
      std::memcpy(p, &v, 4);
      break;
    }
    case Format::kBF16: {
      const float v = random.symmetric();
      std::memcpy(p, reinterpret_cast<const uint8_t*>(&v) + 2, 2);
      break;
    }
    case Format::kIQ1_M: {  // the f16 scale's nibbles are the tops of four words
      uint8_t half[2];
      put_half(half, random);
      for (int i = 0; i < 4; ++i) p[49 + 2 * i] = static_cast<uint8_t>((p[49 + 2 * i] & 15) | ((half[i / 2] >> (4 * (i & 1))) & 15) << 4);
      break;
    }
    case Format::kMXFP4: p[0] = static_cast<uint8_t>(118 + random.byte() % 8); break;
    case Format::kNVFP4:
      for (int i = 0; i < 4; ++i) p[i] &= 0x3f;
      break;
    case Format::kF8_E4M3:
      if ((p[0] & 0x7f) == 0x7f) p[0] ^= 1;
      break;
    case Format::kF8_E5M2:
      if ((p[0] & 0x7c) == 0x7c) p[0] ^= 0x40;
      break;
    default: break;
  }
}

}  // namespace

const char* format_name(Format format) { return dsi::products::format_info(format).name; }

int64_t odd_columns(Format format) {
  switch (dsi::products::format_info(format).block_elements) {
    case 1: return 301;
    case 2: return 288;
    case 32: return 288;
    case 64: return 320;
    default: return 512;
  }
}

Weight random_weight(Format format, int64_t groups, int64_t rows, int64_t cols, uint64_t seed, bool with_perm) {
  const auto& info = dsi::products::format_info(format);
  Random random(seed * 131 + static_cast<uint64_t>(format));
  Weight w{format, groups, rows, cols, {}, {}, {}, {}, 0, 0, 0, {}};
  const int64_t blocks = groups * rows * (cols / info.block_elements);
  w.data.resize(static_cast<size_t>(blocks * info.block_bytes));
  for (int64_t b = 0; b < blocks; ++b) fill_block(format, w.data.data() + b * info.block_bytes, info.block_bytes, random);
  w.values.resize(static_cast<size_t>(groups * rows * cols));
  dsi::products::decode_blocks(format, w.data.data(), groups * rows * cols, w.values.data());
  if (format == Format::kF8_E4M3 || format == Format::kF8_E5M2) {
    w.block_rows = 24;
    w.block_cols = 100;
    const int64_t scale_rows = (rows + 23) / 24, scale_cols = (cols + 99) / 100;
    w.scales.resize(static_cast<size_t>(groups * scale_rows * scale_cols));
    for (float& s : w.scales) s = 0.01f * random.symmetric();
    for (int64_t i = 0; i < groups * rows * cols; ++i) {
      const int64_t g = i / (rows * cols), r = i / cols % rows, c = i % cols;
      w.values[static_cast<size_t>(i)] *= w.scales[static_cast<size_t>((g * scale_rows + r / 24) * scale_cols + c / 100)];
    }
  }
  if (format == Format::kINT4_GROUP) {
    w.group_size = 96;
    const int64_t groups_a_row = cols / 96;
    w.scales.resize(static_cast<size_t>(groups * rows * groups_a_row));
    w.zeros.resize(w.scales.size());
    for (float& s : w.scales) s = 0.02f * random.symmetric();
    for (float& z : w.zeros) z = static_cast<float>(random.byte() & 15);
    for (int64_t i = 0; i < groups * rows * cols; ++i) {
      const size_t s = static_cast<size_t>(i / cols * groups_a_row + i % cols / 96);
      w.values[static_cast<size_t>(i)] = (w.values[static_cast<size_t>(i)] - w.zeros[s]) * w.scales[s];
    }
    if (with_perm) {
      w.perm.resize(static_cast<size_t>(cols));
      for (int64_t j = 0; j < cols; ++j) w.perm[static_cast<size_t>(j)] = static_cast<int32_t>(j * 5 % cols);  // 5 and cols are coprime
      std::vector<float> logical(w.values.size());
      for (int64_t i = 0; i < groups * rows; ++i)
        for (int64_t j = 0; j < cols; ++j)
          logical[static_cast<size_t>(i * cols + w.perm[static_cast<size_t>(j)])] = w.values[static_cast<size_t>(i * cols + j)];
      w.values = logical;
    }
  }
  return w;
}

dsi::WeightSource Weight::source() const {
  dsi::WeightSource s{};
  s.format = format;
  s.groups = groups;
  s.rows = rows;
  s.cols = cols;
  const size_t row_bytes = data.size() / static_cast<size_t>(groups * rows);
  const size_t first = row_bytes * static_cast<size_t>(groups * rows / 3);  // two parts, split inside a matrix
  s.data = {{data.data(), first}, {data.data() + first, data.size() - first}};
  const std::vector<dsi::Bytes> scale_parts = {{reinterpret_cast<const uint8_t*>(scales.data()), scales.size() * sizeof(float)}};
  if (format == Format::kINT4_GROUP) {
    s.scales = scale_parts;
    s.zeros = {{reinterpret_cast<const uint8_t*>(zeros.data()), zeros.size() * sizeof(float)}};
    s.group_size = group_size;
    s.perm = perm.empty() ? nullptr : perm.data();
  } else if (!scales.empty()) {
    s.block_scales = scale_parts;
    s.block_rows = block_rows;
    s.block_cols = block_cols;
  }
  return s;
}

std::vector<float> random_activations(int64_t count, uint64_t seed) {
  Random random(seed);
  std::vector<float> x(static_cast<size_t>(count));
  for (float& v : x) {
    v = random.symmetric();
    if (random.byte() == 0) v *= 20.0f;  // outliers
  }
  return x;
}

std::vector<dsi::Isa> isas() {
  std::vector<dsi::Isa> all = {dsi::Isa::kGeneric};
  if (dsi::best_isa() != dsi::Isa::kGeneric) all.push_back(dsi::Isa::kAvx2);
  if (dsi::best_isa() == dsi::Isa::kAvx512) all.push_back(dsi::Isa::kAvx512);
  return all;
}

}  // namespace test

int main() {
  test::decode_tests();
  test::linear_tests();
  test::moe_tests();
  test::refusal_tests();
  std::printf("%d checks, %d failures\n", test::checks, test::failures);
  return test::failures == 0 ? 0 : 1;
}
