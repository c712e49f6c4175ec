// Packing and gathering give back exactly the values of the file's blocks, on every instruction set.
#include "products_harness.h"

namespace test {

using namespace dsi;

namespace {

void gather_case(Format format, Isa isa, Numerics numerics, bool with_perm) {
  set_isa(isa);
  const int64_t rows = 37, cols = odd_columns(format);
  const Weight w = random_weight(format, 1, rows, cols, 21, with_perm);
  ThreadPool pool(2);
  const auto packed = pack_weight(w.source(), {numerics, false}, pool);
  const std::vector<int32_t> ids = {36, 0, 15, 16, 16, 31, 5};
  const int64_t stride = cols + 3;
  std::vector<float> out(static_cast<size_t>(stride) * ids.size(), 9.0f);
  gather_packed_rows(*packed, ids.data(), static_cast<int64_t>(ids.size()), out.data(), stride, pool);
  const std::string name = std::string("gather ") + format_name(format) + (with_perm ? " perm " : " ") + isa_name(isa);
  for (size_t i = 0; i < ids.size(); ++i) {
    const float* got = out.data() + static_cast<int64_t>(i) * stride;
    check(same_bits(got, w.values.data() + ids[i] * cols, static_cast<size_t>(cols)), name + " row " + std::to_string(ids[i]));
    check(got[cols] == 9.0f, name + ": writes only its row");
  }
}

}  // namespace

void decode_tests() {
  for (const Isa isa : isas())
    for (int f = 0; f < kFormats; ++f)
      for (const Numerics numerics : {Numerics::kExact, Numerics::kFast}) {
        gather_case(static_cast<Format>(f), isa, numerics, false);
        if (static_cast<Format>(f) == Format::kINT4_GROUP) gather_case(Format::kINT4_GROUP, isa, numerics, true);
      }
  set_isa(best_isa());
}

}  // namespace test
