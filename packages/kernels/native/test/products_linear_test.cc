// linear, head_linear: every format, instruction set and row count against a double reference; equal bits for any batch and thread count.
#include <algorithm>
#include <limits>

#include "products_harness.h"

namespace test {
namespace {

using namespace dsi;

constexpr int64_t kRowCounts[] = {0, 1, 2, 3, 7, 8, 9, 33};
constexpr int64_t kMostRows = 33;
constexpr int64_t kWeightRows = 150;  // ten row groups, the last one partial

enum class Kind { kExact, kBf16, kBlock32, kSuper };

// How an activation may be rounded in fast numerics. Widest of what the instruction sets do.
Kind fast_kind(Format f) {
  switch (f) {
    case Format::kBF16: return Kind::kBf16;
    case Format::kQ4_0: case Format::kQ4_1: case Format::kQ5_0: case Format::kQ5_1: case Format::kQ8_0: case Format::kIQ4_NL:
    case Format::kMXFP4: case Format::kINT4_GROUP: case Format::kNVFP4:
      return Kind::kBlock32;
    case Format::kF32: case Format::kF16: case Format::kF8_E4M3: case Format::kF8_E5M2: return Kind::kExact;
    default: return Kind::kSuper;
  }
}

// Reference and error bound of every output: f32 accumulation of K terms, plus what rounding the activations may do.
struct Reference {
  std::vector<double> y, bound;
};

Reference reference(const float* w, const float* x, const float* bias, int64_t m, int64_t rows, int64_t cols, Kind kind) {
  Reference r{std::vector<double>(static_cast<size_t>(m * rows)), std::vector<double>(static_cast<size_t>(m * rows))};
  const int64_t block = kind == Kind::kSuper ? 256 : 32;
  std::vector<double> step(static_cast<size_t>(cols));
  for (int64_t t = 0; t < m; ++t) {
    const float* xt = x + t * cols;
    for (int64_t k = 0; k < cols; ++k) {
      if (kind == Kind::kExact) {
        step[static_cast<size_t>(k)] = 0;
      } else if (kind == Kind::kBf16) {
        step[static_cast<size_t>(k)] = std::fabs(xt[k]) * 0x1p-8;
      } else {
        double largest = 0;
        for (int64_t i = k / block * block; i < std::min(cols, k / block * block + block); ++i) largest = std::max<double>(largest, std::fabs(xt[i]));
        step[static_cast<size_t>(k)] = largest / 254 * 1.0001;
      }
    }
    for (int64_t n = 0; n < rows; ++n) {
      double sum = 0, magnitude = 0, rounding = 0, largest = 0;
      for (int64_t k = 0; k < cols; ++k) {
        const double a = w[n * cols + k];
        sum += a * xt[k];
        magnitude += std::fabs(a) * (std::fabs(xt[k]) + step[static_cast<size_t>(k)]);
        rounding += std::fabs(a) * step[static_cast<size_t>(k)];
        largest = std::max(largest, std::fabs(a) * (std::fabs(xt[k]) + 127 * step[static_cast<size_t>(k)]));
      }
      if (bias != nullptr) sum += bias[n];
      r.y[static_cast<size_t>(t * rows + n)] = sum;
      // Two roundings a term in the plain build; scale and minimum are rounded apart in fast numerics (hence `largest`).
      r.bound[static_cast<size_t>(t * rows + n)] =
          rounding + static_cast<double>(cols + 4) * 0x1p-23 * (magnitude + (bias != nullptr ? std::fabs(bias[n]) : 0)) +
          (kind == Kind::kExact ? 0 : 64 * 0x1p-22 * largest);
    }
  }
  return r;
}

void compare(const Reference& r, const float* y, int64_t m, int64_t rows, int64_t y_stride, const std::string& what) {
  double worst = 0;
  for (int64_t t = 0; t < m; ++t)
    for (int64_t n = 0; n < rows; ++n) {
      const double error = std::fabs(y[t * y_stride + n] - r.y[static_cast<size_t>(t * rows + n)]);
      const double bound = r.bound[static_cast<size_t>(t * rows + n)] + 1e-30;
      worst = std::isfinite(y[t * y_stride + n]) ? std::max(worst, error / bound) : std::numeric_limits<double>::infinity();
      if (worst == std::numeric_limits<double>::infinity()) break;
    }
  check(worst <= 1.0, what + ": error is " + std::to_string(worst) + " of its bound");
}

void linear_case(Format format, Isa isa, Numerics numerics, bool with_perm) {
  set_isa(isa);
  const std::string name = std::string(format_name(format)) + (with_perm ? " perm" : "") + (numerics == Numerics::kFast ? " fast " : " exact ") + isa_name(isa);
  const int64_t cols = odd_columns(format);
  const Weight w = random_weight(format, 1, kWeightRows, cols, 3, with_perm);
  const std::vector<float> x = random_activations(kMostRows * cols, 5), bias = random_activations(kWeightRows, 6);
  const Kind kind = numerics == Numerics::kFast ? fast_kind(format) : Kind::kExact;
  const Reference expected = reference(w.values.data(), x.data(), bias.data(), kMostRows, kWeightRows, cols, kind);
  constexpr int64_t kStride = kWeightRows + 5;
  std::vector<float> batch;
  for (int threads = 1; threads <= 3; ++threads) {
    ThreadPool pool(threads);
    const auto packed = pack_weight(w.source(), {numerics, false}, pool);
    auto scratch = make_product_scratch();
    for (int64_t m : kRowCounts) {
      std::vector<float> y(static_cast<size_t>(kMostRows * kStride), -7.0f);
      const LinearOutput out{packed.get(), bias.data(), y.data(), kStride};
      linear(x.data(), cols, m, &out, 1, *scratch, pool);
      const std::string what = name + " m=" + std::to_string(m) + " threads=" + std::to_string(threads);
      compare(expected, y.data(), m, kWeightRows, kStride, what);
      bool untouched = true;
      for (int64_t t = 0; t < m; ++t)
        for (int64_t i = kWeightRows; i < kStride; ++i) untouched &= y[static_cast<size_t>(t * kStride + i)] == -7.0f;
      for (int64_t i = m * kStride; i < kMostRows * kStride; ++i) untouched &= y[static_cast<size_t>(i)] == -7.0f;
      check(untouched, what + ": writes only its own outputs");
      if (m == 1 && threads == 1) batch.assign(y.begin(), y.end());
      if (m > 0) check(same_bits(batch.data(), y.data(), kWeightRows), what + ": row 0 has the bits of m=1");
    }
    // every row alone against the batch of 33
    std::vector<float> all(static_cast<size_t>(kMostRows * kWeightRows)), one(static_cast<size_t>(kWeightRows));
    const LinearOutput out_all{packed.get(), nullptr, all.data(), kWeightRows}, out_one{packed.get(), nullptr, one.data(), kWeightRows};
    linear(x.data(), cols, kMostRows, &out_all, 1, *scratch, pool);
    for (int64_t t = 0; t < kMostRows; ++t) {
      linear(x.data() + t * cols, cols, 1, &out_one, 1, *scratch, pool);
      check(same_bits(one.data(), all.data() + t * kWeightRows, kWeightRows), name + ": row " + std::to_string(t) + " alone equals in the batch");
    }
  }
}

void nan_case(Format format, Isa isa, Numerics numerics) {
  set_isa(isa);
  const int64_t cols = odd_columns(format), m = 10;
  const Weight w = random_weight(format, 1, 20, cols, 8);
  ThreadPool pool(2);
  const auto packed = pack_weight(w.source(), {numerics, false}, pool);
  auto scratch = make_product_scratch();
  const std::string name = std::string(format_name(format)) + (numerics == Numerics::kFast ? " fast " : " exact ") + isa_name(isa);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()})
    for (int64_t rows : {int64_t{1}, m}) {
      std::vector<float> x = random_activations(rows * cols, 9), y(static_cast<size_t>(rows * 20));
      x[static_cast<size_t>(cols - 3)] = bad;  // row 0
      const LinearOutput out{packed.get(), nullptr, y.data(), 20};
      linear(x.data(), cols, rows, &out, 1, *scratch, pool);
      bool bad_row = true, good_rows = true;
      // a weight of zero times infinity is NaN, so no output of row 0 is finite
      for (int64_t n = 0; n < 20; ++n) bad_row &= !std::isfinite(y[static_cast<size_t>(n)]);
      for (int64_t i = 20; i < rows * 20; ++i) good_rows &= std::isfinite(y[static_cast<size_t>(i)]);
      check(bad_row, name + ": a non-finite activation makes its row's outputs non-finite");
      check(good_rows, name + ": other rows stay finite");
    }
}

void shared_case(Isa isa) {  // several weights of different formats in one call have the bits of separate calls
  set_isa(isa);
  const Format formats[] = {Format::kQ4_K, Format::kQ6_K, Format::kQ8_0, Format::kBF16, Format::kIQ3_S, Format::kINT4_GROUP};
  const int64_t cols = 768, m = 11;
  ThreadPool pool(2);
  const std::vector<float> x = random_activations(m * (cols + 9), 12);
  auto scratch = make_product_scratch();
  std::vector<std::unique_ptr<PackedWeight>> packed;
  std::vector<std::vector<float>> together, apart;
  std::vector<LinearOutput> outputs;
  for (const Format f : formats) {
    const int64_t rows = 40 + 8 * static_cast<int64_t>(packed.size());
    packed.push_back(pack_weight(random_weight(f, 1, rows, cols, 10, f == Format::kINT4_GROUP).source(), {Numerics::kFast, packed.size() == 1}, pool));
    together.emplace_back(static_cast<size_t>(m * rows));
    apart.emplace_back(static_cast<size_t>(m * rows));
  }
  for (size_t i = 0; i < packed.size(); ++i) outputs.push_back({packed[i].get(), nullptr, together[i].data(), packed[i]->rows()});
  linear(x.data(), cols + 9, m, outputs.data(), static_cast<int>(outputs.size()), *scratch, pool);
  for (size_t i = 0; i < packed.size(); ++i) {
    const LinearOutput out{packed[i].get(), nullptr, apart[i].data(), packed[i]->rows()};
    linear(x.data(), cols + 9, m, &out, 1, *scratch, pool);
    check(same_bits(together[i].data(), apart[i].data(), apart[i].size()), std::string("merged ") + format_name(formats[i]) + " " + isa_name(isa));
  }
}

void head_case(Format format, Isa isa, Numerics numerics) {
  set_isa(isa);
  const int64_t heads = 5, rows = 36, cols = odd_columns(format);
  const Weight w = random_weight(format, heads, rows, cols, 14);
  ThreadPool pool(2);
  const auto packed = pack_weight(w.source(), {numerics, false}, pool);
  auto scratch = make_product_scratch();
  for (int64_t m : {int64_t{0}, int64_t{1}, int64_t{4}, int64_t{19}}) {
    const std::vector<float> x = random_activations(m * heads * cols, 15);
    std::vector<float> y(static_cast<size_t>(m * heads * rows));
    head_linear(x.data(), m, *packed, y.data(), *scratch, pool);
    for (int64_t h = 0; h < heads; ++h) {
      std::vector<float> xh(static_cast<size_t>(m * cols));
      for (int64_t t = 0; t < m; ++t) std::memcpy(xh.data() + t * cols, x.data() + (t * heads + h) * cols, static_cast<size_t>(cols) * 4);
      const Kind kind = numerics == Numerics::kFast ? fast_kind(format) : Kind::kExact;
      const Reference r = reference(w.values.data() + h * rows * cols, xh.data(), nullptr, m, rows, cols, kind);
      compare(r, y.data() + h * rows, m, rows, heads * rows, std::string("head_linear ") + format_name(format) + " " + isa_name(isa) + " m=" + std::to_string(m));
    }
  }
}

}  // namespace

void linear_tests() {
  for (const Isa isa : isas()) {
    for (int f = 0; f < kFormats; ++f)
      for (const Numerics numerics : {Numerics::kExact, Numerics::kFast}) {
        linear_case(static_cast<Format>(f), isa, numerics, false);
        nan_case(static_cast<Format>(f), isa, numerics);
        if (static_cast<Format>(f) == Format::kINT4_GROUP) linear_case(Format::kINT4_GROUP, isa, numerics, true);
      }
    shared_case(isa);
    for (const Format f : {Format::kBF16, Format::kF16, Format::kF32, Format::kQ8_0, Format::kQ4_0})
      for (const Numerics numerics : {Numerics::kExact, Numerics::kFast}) head_case(f, isa, numerics);
  }
  set_isa(best_isa());
}

}  // namespace test
