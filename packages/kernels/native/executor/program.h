// A Program as the executor holds it: src/program.ts, lowered to numbers by src/native/lower.ts, which has checked it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace dsi {

// Same order as opNames in src/ops/names.ts.
enum class OpCode {
  kEmbedding, kRmsNorm, kAddRmsNorm, kLinear, kHeadLinear, kRope, kKvWrite, kAttention, kMlaAttention,
  kSiluMul, kAdd, kSigmoidMul, kSlice, kGatherRows, kMoeRoute, kMoeMlp, kSample,
};
constexpr int kOpCount = 17;
const char* op_name(OpCode code);

enum class TensorKind { kInput, kWeight, kConst, kValue, kKv };

// Sizes >= 0, or one of these symbols, bound at launch.
enum Symbol : int32_t { kT = -1, kS = -2, kR = -3, kB = -4, kSPlusOne = -5 };
using Dims = std::array<int64_t, 4>;  // T, S, R, B

inline int64_t dim_size(int32_t dim, const Dims& dims) {
  if (dim >= 0) return dim;
  if (dim == kSPlusOne) return dims[1] + 1;
  return dims[static_cast<size_t>(-1 - dim)];
}

struct Tensor {
  std::string name;
  TensorKind kind;
  bool is_i32;
  std::vector<int32_t> shape;
  int64_t offset = 0;  // value: bytes into the arena
  int32_t index = 0;   // input, const: number among its kind
  bool ragged = false; // input whose length is free

  int64_t elements(const Dims& dims) const {
    int64_t n = 1;
    for (const int32_t d : shape) n *= dim_size(d, dims);
    return n;
  }
  // Product of all axes but the last.
  int64_t rows(const Dims& dims) const {
    int64_t n = 1;
    for (size_t i = 0; i + 1 < shape.size(); ++i) n *= dim_size(shape[i], dims);
    return n;
  }
  int64_t last() const { return shape.empty() ? 1 : shape.back(); }
};

struct Op {
  OpCode code;
  std::vector<int32_t> inputs, outputs;  // tensor ids; -1 = absent
  std::vector<double> attrs;             // in the order of src/native/lower.ts
};

struct ConstData {
  std::vector<uint8_t> bytes;
};

struct Program {
  std::string name;
  bool fast;
  Dims max_dims;
  std::vector<Tensor> tensors;
  std::vector<Op> ops;
  std::vector<ConstData> consts;
  std::vector<int32_t> inputs;   // tensor ids, in the order that a launch gives them
  std::vector<int32_t> outputs;  // tensor ids
  int64_t arena_bytes;
};

}  // namespace dsi
