// Checks of index data: nothing that a launch brings can make a kernel touch memory that is not its own.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "executor/program.h"

namespace dsi {

// Elements of a bound tensor.
struct TensorView {
  const void* data;
  int64_t elements;
  const float* f32() const { return static_cast<const float*>(data); }
  const int32_t* i32() const { return static_cast<const int32_t*>(data); }
};
using ViewOf = std::function<TensorView(int32_t tensor)>;

struct Check {
  enum class Kind { kIndices, kAttention, kSample };
  Kind kind;
  std::vector<int32_t> tensors;
  int64_t low = 0, high = 0;  // kIndices: values in [low, high); kAttention: window, block size
  int64_t blocks = 0;         // kAttention: blocks of the KV storage
  int32_t rows_of = -1;       // kIndices: high = rows of this tensor
  bool operator==(const Check& other) const;
};

struct CheckPlan {
  std::vector<Check> at_launch;               // of inputs and constants, each once
  std::vector<std::vector<Check>> before_op;  // of values that an earlier op computed
};

CheckPlan plan_checks(const Program& program, int64_t slots, int64_t blocks);

// Throws LaunchError naming tensor, element, value and limit.
void run_check(const Check& check, const Program& program, const Dims& dims, const ViewOf& view);

// [src0, dst0, ...]; throws LaunchError.
void check_block_copies(const int32_t* pairs, size_t count, int64_t blocks);

}  // namespace dsi
