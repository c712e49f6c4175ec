// moe_mlp against a plain computation, and equal bits whatever else is in the batch; refusals of pack_weight.
#include <stdexcept>

#include "products_harness.h"

namespace test {

using namespace dsi;

namespace {

struct Experts {
  Weight gate, up, down;
  std::unique_ptr<PackedWeight> packed_gate, packed_up, packed_down;
};

constexpr int64_t kExperts = 6, kTopK = 2;

Experts make_experts(Format gate, Format down, int64_t width, int64_t inner, Numerics numerics, ThreadPool& pool) {
  Experts e{random_weight(gate, kExperts, inner, width, 31), random_weight(gate, kExperts, inner, width, 32),
            random_weight(down, kExperts, width, inner, 33), nullptr, nullptr, nullptr};
  e.packed_gate = pack_weight(e.gate.source(), {numerics, false}, pool);
  e.packed_up = pack_weight(e.up.source(), {numerics, false}, pool);
  e.packed_down = pack_weight(e.down.source(), {numerics, false}, pool);
  return e;
}

double dot(const float* w, const double* x, int64_t n) {
  double s = 0;
  for (int64_t i = 0; i < n; ++i) s += w[i] * x[i];
  return s;
}

void moe_case(Format gate, Format down, Isa isa, Numerics numerics) {
  set_isa(isa);
  constexpr int64_t kTokens = 41, kWidth = 256, kInner = 256;
  const std::string name = std::string("moe ") + format_name(gate) + " " + format_name(down) + (numerics == Numerics::kFast ? " fast " : " exact ") + isa_name(isa);
  ThreadPool pool(2);
  const Experts e = make_experts(gate, down, kWidth, kInner, numerics, pool);
  Random random(35);
  std::vector<float> x(static_cast<size_t>(kTokens * kWidth));
  for (float& v : x) v = 0.1f * random.symmetric();
  std::vector<int32_t> ids;
  std::vector<float> factors;
  for (int64_t t = 0; t < kTokens; ++t) {
    const int32_t first = t < 25 ? 3 : static_cast<int32_t>(random.byte() % kExperts);  // one expert is crowded
    ids.push_back(first);
    ids.push_back(static_cast<int32_t>((first + 1 + random.byte() % (kExperts - 1)) % kExperts));
    factors.push_back(random.uniform());
    factors.push_back(random.uniform());
  }
  auto scratch = make_product_scratch();
  std::vector<float> y(static_cast<size_t>(kTokens * kWidth)), one(static_cast<size_t>(kWidth));
  moe_mlp(x.data(), kTokens, kTopK, ids.data(), factors.data(), *e.packed_gate, *e.packed_up, *e.packed_down, y.data(), *scratch, pool);
  double error = 0, norm = 0;
  for (int64_t t = 0; t < kTokens; ++t) {
    std::vector<double> xt(x.begin() + t * kWidth, x.begin() + (t + 1) * kWidth), sum(static_cast<size_t>(kWidth)), hidden(static_cast<size_t>(kInner));
    for (int64_t j = 0; j < kTopK; ++j) {
      const int64_t expert = ids[static_cast<size_t>(t * kTopK + j)];
      for (int64_t i = 0; i < kInner; ++i) {
        const double g = dot(e.gate.values.data() + (expert * kInner + i) * kWidth, xt.data(), kWidth);
        const double u = dot(e.up.values.data() + (expert * kInner + i) * kWidth, xt.data(), kWidth);
        hidden[static_cast<size_t>(i)] = g / (1 + std::exp(-g)) * u;
      }
      for (int64_t i = 0; i < kWidth; ++i)
        sum[static_cast<size_t>(i)] += factors[static_cast<size_t>(t * kTopK + j)] * dot(e.down.values.data() + (expert * kWidth + i) * kInner, hidden.data(), kInner);
    }
    for (int64_t i = 0; i < kWidth; ++i) {
      const double d = y[static_cast<size_t>(t * kWidth + i)] - sum[static_cast<size_t>(i)];
      error += d * d;
      norm += sum[static_cast<size_t>(i)] * sum[static_cast<size_t>(i)];
    }
    // alone: equal bits
    moe_mlp(x.data() + t * kWidth, 1, kTopK, ids.data() + t * kTopK, factors.data() + t * kTopK, *e.packed_gate, *e.packed_up, *e.packed_down,
            one.data(), *scratch, pool);
    check(same_bits(one.data(), y.data() + t * kWidth, kWidth), name + ": token " + std::to_string(t) + " alone equals in the batch");
  }
  const double relative = std::sqrt(error / norm), limit = numerics == Numerics::kExact ? 2e-6 : 3e-2;
  check(relative < limit, name + ": relative error " + std::to_string(relative));
  for (int threads = 1; threads <= 3; ++threads) {
    ThreadPool other(threads);
    std::vector<float> again(y.size());
    moe_mlp(x.data(), kTokens, kTopK, ids.data(), factors.data(), *e.packed_gate, *e.packed_up, *e.packed_down, again.data(), *scratch, other);
    check(same_bits(again.data(), y.data(), y.size()), name + ": " + std::to_string(threads) + " threads");
  }
  ids[3] = kExperts;
  bool refused = false;
  try {
    moe_mlp(x.data(), kTokens, kTopK, ids.data(), factors.data(), *e.packed_gate, *e.packed_up, *e.packed_down, y.data(), *scratch, pool);
  } catch (const std::out_of_range&) {
    refused = true;
  }
  check(refused, name + ": an expert out of range is refused");
}

void refuses(const char* what, WeightSource source) {
  ThreadPool pool(1);
  bool refused = false;
  try {
    pack_weight(source, {Numerics::kFast, false}, pool);
  } catch (const std::invalid_argument&) {
    refused = true;
  }
  check(refused, std::string("pack_weight refuses ") + what);
}

}  // namespace

void moe_tests() {
  for (const Isa isa : isas())
    for (const Numerics numerics : {Numerics::kExact, Numerics::kFast}) {
      moe_case(Format::kQ4_K, Format::kQ6_K, isa, numerics);
      moe_case(Format::kQ8_0, Format::kQ4_0, isa, numerics);
      moe_case(Format::kBF16, Format::kBF16, isa, numerics);
      moe_case(Format::kIQ2_XS, Format::kIQ4_NL, isa, numerics);
    }
  set_isa(best_isa());
}

void refusal_tests() {
  const Weight q = random_weight(Format::kQ8_0, 2, 20, 64, 40), f8 = random_weight(Format::kF8_E4M3, 1, 30, 50, 41),
               int4 = random_weight(Format::kINT4_GROUP, 1, 8, 192, 42, true);
  WeightSource s = q.source();
  s.rows = 21;
  refuses("too few bytes", s);
  s = q.source();
  s.cols = 65;
  refuses("columns that are no whole blocks", s);
  s = q.source();
  s.groups = int64_t{1} << 61;
  refuses("sizes that overflow", s);
  s = q.source();
  s.groups = 0;
  refuses("an empty weight", s);
  s = q.source();
  s.data = {{q.data.data(), 10}, {q.data.data() + 10, q.data.size() - 10}};
  refuses("parts that split a row", s);
  s = f8.source();
  s.block_cols = 0;
  refuses("scale blocks of no size", s);
  s = f8.source();
  s.block_rows = 1;
  refuses("too few scales", s);
  s = int4.source();
  s.group_size = 50;
  refuses("a group size that does not divide the columns", s);
  std::vector<int32_t> twice(192, 1);
  s = int4.source();
  s.perm = twice.data();
  refuses("a perm that is no permutation", s);

  ThreadPool pool(2);
  size_t released = 0;
  s = q.source();
  static std::vector<std::pair<const uint8_t*, size_t>> ranges;
  ranges.clear();
  s.release = [](void* total, const uint8_t* data, size_t size) {
    ranges.emplace_back(data, size);
    *static_cast<size_t*>(total) += size;
  };
  s.release_context = &released;
  ThreadPool single(1);
  const auto packed = pack_weight(s, {Numerics::kFast, false}, single);
  check(released == q.data.size(), "pack_weight releases every source byte once");
  check(packed->bytes() >= q.data.size(), "bytes() counts the packed data");
}

}  // namespace test
