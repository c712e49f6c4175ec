#include <cmath>
#include <cstring>

#include "cpu/ops/row_kernels.h"
#include "dsi/isa.h"
#include "test/ops/harness.h"

namespace dsi {
namespace {

bool close(float a, float b, float tolerance) { return std::fabs(a - b) <= tolerance * std::fmax(1.0f, std::fabs(b)); }

// Kernel inputs and outputs end exactly where their vectors end, so that the address sanitizer sees one element too much.
std::vector<float> exact(size_t n, uint32_t seed) { return test::Numbers(seed).many(n); }

}  // namespace

TEST("elementwise kernels agree with generic for every width and stay inside their rows") {
  for (int64_t n = 1; n <= 140; ++n) {
    const size_t size = static_cast<size_t>(n);
    const auto x = exact(size, 1), w = exact(size, 2);
    std::vector<float> a(size), b(size), sums(size);
    row_kernels().rms_norm(x.data(), w.data(), a.data(), n, 1e-5f);
    kRowKernelsGeneric.rms_norm(x.data(), w.data(), b.data(), n, 1e-5f);
    for (size_t i = 0; i < size; ++i) CHECK(close(a[i], b[i], 1e-6f));
    row_kernels().add_rms_norm(x.data(), w.data(), w.data(), sums.data(), a.data(), n, 1e-5f);
    row_kernels().silu_mul(x.data(), w.data(), a.data(), n);
    kRowKernelsGeneric.silu_mul(x.data(), w.data(), b.data(), n);
    for (size_t i = 0; i < size; ++i) CHECK(close(a[i], b[i], 1e-6f));
    row_kernels().softmax(x.data(), a.data(), n);
    float total = 0;
    for (const float p : a) total += p;
    CHECK(close(total, 1.0f, 1e-5f));
  }
}

TEST("cache conversions round to nearest even as generic does, NaN and subnormals too") {
  std::vector<float> x;
  for (uint32_t bits = 0; bits < 0xfffff000u; bits += 65521u * 7u) {
    float f;
    std::memcpy(&f, &bits, 4);
    x.push_back(f);
  }
  for (const KvDType dtype : {KvDType::kF16, KvDType::kBF16}) {
    std::vector<uint16_t> a(x.size()), b(x.size());
    row_kernels().kv_store(x.data(), a.data(), static_cast<int64_t>(x.size()), dtype);
    kRowKernelsGeneric.kv_store(x.data(), b.data(), static_cast<int64_t>(x.size()), dtype);
    CHECK(a == b);
    std::vector<float> back(x.size()), expected(x.size());
    const uint8_t* row = reinterpret_cast<const uint8_t*>(a.data());
    row_kernels().values_load(&row, 1, dtype, static_cast<int64_t>(x.size()), back.data());
    kRowKernelsGeneric.values_load(&row, 1, dtype, static_cast<int64_t>(x.size()), expected.data());
    CHECK(std::memcmp(back.data(), expected.data(), back.size() * 4) == 0);
  }
}

TEST("keys_transpose equals a plain transpose for odd counts and widths") {
  for (const KvDType dtype : {KvDType::kF32, KvDType::kF16, KvDType::kBF16}) {
    for (const int count : {1, 15, 16, 17, 63, 64}) {
      for (const int64_t width : {1, 15, 16, 33, 80}) {
        const int64_t bytes = width * kv_element_bytes(dtype);
        std::vector<std::vector<uint8_t>> storage;
        std::vector<const uint8_t*> rows;
        for (int j = 0; j < count; ++j) {
          const auto x = exact(static_cast<size_t>(width), static_cast<uint32_t>(j));
          storage.emplace_back(static_cast<size_t>(bytes));
          row_kernels().kv_store(x.data(), storage.back().data(), width, dtype);
        }
        for (const auto& row : storage) rows.push_back(row.data());
        std::vector<float> transposed(static_cast<size_t>(width * kSubTile)), values(static_cast<size_t>(count * width));
        row_kernels().keys_transpose(rows.data(), count, dtype, width, transposed.data());
        row_kernels().values_load(rows.data(), count, dtype, width, values.data());
        for (int64_t c = 0; c < width; ++c) {
          for (int j = 0; j < kSubTile; ++j) {
            const float expected = j < count ? values[static_cast<size_t>(j * width + c)] : 0.0f;
            CHECK(transposed[static_cast<size_t>(c * kSubTile + j)] == expected);
          }
        }
      }
    }
  }
}

#if defined(__x86_64__)
TEST("AVX2 and AVX-512 give equal bits") {
  if (best_isa() != Isa::kAvx512) return;
  const RowKernels &p = kRowKernelsAvx2, &q = kRowKernelsAvx512;
  const int64_t width = 72;
  const int queries = 7;
  const auto query = exact(static_cast<size_t>(queries * width), 1), keys = exact(static_cast<size_t>(width * kSubTile), 2);
  const auto values = exact(static_cast<size_t>(kSubTile * width), 3);
  std::vector<VisibleRange> ranges;
  for (int i = 0; i < queries; ++i) ranges.push_back({i, 40 + i});
  std::vector<float> results[2];
  const RowKernels* kernels[2] = {&p, &q};
  for (int k = 0; k < 2; ++k) {
    std::vector<float> scores(static_cast<size_t>(queries * kChunk)), out(static_cast<size_t>(queries * width)), m(queries), l(queries);
    kernels[k]->scores(query.data(), queries, width, keys.data(), 0.3f, scores.data());
    kernels[k]->chunk_softmax(scores.data(), queries, ranges.data(), m.data(), l.data());
    kernels[k]->weighted_values(scores.data(), queries, ranges.data(), values.data(), width, out.data());
    results[k] = out;
    results[k].insert(results[k].end(), l.begin(), l.end());
  }
  CHECK(std::memcmp(results[0].data(), results[1].data(), results[0].size() * 4) == 0);
}
#endif

}  // namespace dsi
