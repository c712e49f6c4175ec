#include "executor/checks.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/ops/sampler.h"
#include "executor/errors.h"

namespace dsi {
namespace {

const std::string& name_of(const Program& program, int32_t id) { return program.tensors[static_cast<size_t>(id)].name; }

[[noreturn]] void fail(const Program& program, int32_t id, int64_t element, const std::string& value, const std::string& limit) {
  throw LaunchError("\"" + name_of(program, id) + "\"[" + std::to_string(element) + "] is " + value + ": it must be " + limit);
}

[[noreturn]] void fail(const Program& program, int32_t id, int64_t element, int64_t value, const std::string& limit) {
  fail(program, id, element, std::to_string(value), limit);
}

std::string range(int64_t low, int64_t high) {
  if (high <= low) return "absent, as no index is valid here";
  return "in " + std::to_string(low) + ".." + std::to_string(high - 1);
}

void check_indices(const Check& check, const Program& program, const Dims& dims, const ViewOf& view) {
  const int32_t id = check.tensors[0];
  const TensorView v = view(id);
  const int64_t high = check.rows_of < 0 ? check.high : program.tensors[static_cast<size_t>(check.rows_of)].rows(dims);
  for (int64_t i = 0; i < v.elements; ++i) {
    if (v.i32()[i] < check.low || v.i32()[i] >= high) fail(program, id, i, v.i32()[i], range(check.low, high));
  }
}

// Starts of a ragged list: begins at 0, never falls, ends at `total`.
void check_starts(const Program& program, int32_t id, const TensorView& starts, int64_t count, int64_t total) {
  if (starts.elements != count) {
    throw LaunchError("\"" + name_of(program, id) + "\" has " + std::to_string(starts.elements) + " elements: it must have " + std::to_string(count));
  }
  if (starts.i32()[0] != 0) fail(program, id, 0, starts.i32()[0], "0");
  for (int64_t i = 1; i < count; ++i) {
    if (starts.i32()[i] < starts.i32()[i - 1]) fail(program, id, i, starts.i32()[i], "at least the element before it, " + std::to_string(starts.i32()[i - 1]));
  }
  if (starts.i32()[count - 1] != total) fail(program, id, count - 1, starts.i32()[count - 1], std::to_string(total) + ", the number of entries");
}

void check_attention(const Check& check, const Program& program, const Dims& dims, const ViewOf& view) {
  const int32_t positions_id = check.tensors[0], tables_id = check.tensors[2];
  const TensorView positions = view(positions_id), starts = view(check.tensors[1]), tables = view(tables_id);
  const int64_t window = check.low, block_size = check.high;
  const int64_t sequences = dims[1], columns = dims[3], capacity = columns * block_size;
  check_starts(program, check.tensors[1], starts, sequences + 1, dims[0]);
  for (int64_t s = 0; s < sequences; ++s) {
    const int64_t begin = starts.i32()[s], end = starts.i32()[s + 1];
    if (begin == end) continue;
    for (int64_t t = begin; t < end; ++t) {
      const int64_t p = positions.i32()[t];
      if (p < 0 || p >= capacity) fail(program, positions_id, t, p, range(0, capacity) + " (the block table has " + std::to_string(columns) + " columns of " + std::to_string(block_size) + " positions)");
      if (t > begin && p < positions.i32()[t - 1]) fail(program, positions_id, t, p, "no lower than the row before it in sequence " + std::to_string(s));
    }
    const int64_t lowest = positions.i32()[begin], highest = positions.i32()[end - 1];
    const int64_t oldest = window > 0 ? std::max<int64_t>(0, lowest - window + 1) : 0;
    for (int64_t b = oldest / block_size; b <= highest / block_size; ++b) {
      const int64_t block = tables.i32()[s * columns + b];
      if (block < 0 || block >= check.blocks) fail(program, tables_id, s * columns + b, block, range(0, check.blocks) + ", as its positions are read");
    }
  }
}

void check_row_parameters(const Program& program, int32_t id, const float* f, int64_t row) {
  const auto require = [&](int column, const char* what, bool ok, const char* limit) {
    if (!ok) throw LaunchError("\"" + name_of(program, id) + "\" row " + std::to_string(row) + ": " + what + " is " + std::to_string(f[column]) + ": it must be " + limit);
  };
  require(kTemperature, "temperature", std::isfinite(f[kTemperature]) && f[kTemperature] >= 0, "a finite number >= 0");
  require(kTopP, "top_p", f[kTopP] > 0, "above 0 (1 = off)");
  require(kMinP, "min_p", f[kMinP] >= 0 && f[kMinP] <= 1, "in 0..1 (0 = off)");
  require(kTypicalP, "typical_p", f[kTypicalP] >= 0, "at least 0 (0 or 1 = off)");
  require(kRepetitionPenalty, "repetition_penalty", std::isfinite(f[kRepetitionPenalty]) && f[kRepetitionPenalty] > 0, "a finite number above 0 (1 = off)");
  require(kFrequencyPenalty, "frequency_penalty", std::isfinite(f[kFrequencyPenalty]), "a finite number");
  require(kPresencePenalty, "presence_penalty", std::isfinite(f[kPresencePenalty]), "a finite number");
  require(kTopNSigma, "top_n_sigma", std::isfinite(f[kTopNSigma]), "a finite number (0 = off)");
  require(kXtcProbability, "xtc_probability", f[kXtcProbability] >= 0 && f[kXtcProbability] <= 1, "in 0..1 (0 = off)");
  require(kXtcThreshold, "xtc_threshold", f[kXtcThreshold] >= 0 && f[kXtcThreshold] <= 1, "in 0..1");
}

void check_sample(const Check& check, const Program& program, const Dims& dims, const ViewOf& view) {
  // tensors: params_f32, params_i32, penalty_starts, penalty_ids, penalty_counts, bias_starts, bias_ids, bias_values
  const int64_t rows = dims[2], vocabulary = check.high;
  const auto id = [&](size_t i) { return check.tensors[i]; };
  const auto ids_below = [&](size_t i) {
    const TensorView v = view(id(i));
    for (int64_t j = 0; j < v.elements; ++j) {
      if (v.i32()[j] < 0 || v.i32()[j] >= vocabulary) fail(program, id(i), j, v.i32()[j], range(0, vocabulary));
    }
    return v.elements;
  };
  const auto same_length = [&](size_t i, int64_t length) {
    if (view(id(i)).elements != length) {
      throw LaunchError("\"" + name_of(program, id(i)) + "\" has " + std::to_string(view(id(i)).elements) + " elements: it must have " + std::to_string(length) + ", one an id");
    }
  };
  const int64_t penalties = ids_below(3);
  check_starts(program, id(2), view(id(2)), rows + 1, penalties);
  same_length(4, penalties);
  const int64_t biases = ids_below(6);
  check_starts(program, id(5), view(id(5)), rows + 1, biases);
  same_length(7, biases);
  const TensorView values = view(id(7)), f = view(id(0)), i = view(id(1));
  for (int64_t j = 0; j < biases; ++j) {
    if (!(values.f32()[j] < std::numeric_limits<float>::infinity())) fail(program, id(7), j, std::to_string(values.f32()[j]), "a finite number, or -Infinity to ban");
  }
  for (int64_t r = 0; r < rows; ++r) {
    check_row_parameters(program, id(0), f.f32() + r * kSampleColumns, r);
    const int64_t logprobs = i.i32()[r * kSampleColumns + kLogprobs];
    if (logprobs < -1 || logprobs > check.low) fail(program, id(1), r * kSampleColumns + kLogprobs, logprobs, range(-1, check.low + 1) + " (topLogprobs of the program)");
  }
}

}  // namespace

bool Check::operator==(const Check& o) const {
  return kind == o.kind && tensors == o.tensors && low == o.low && high == o.high && blocks == o.blocks && rows_of == o.rows_of;
}

CheckPlan plan_checks(const Program& program, int64_t slots, int64_t blocks) {
  CheckPlan plan;
  plan.before_op.resize(program.ops.size());
  const auto indices = [](int32_t tensor, int64_t low, int64_t high, int32_t rows_of = -1) {
    return Check{Check::Kind::kIndices, {tensor}, low, high, 0, rows_of};
  };
  for (size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    const auto last = [&](int32_t id) { return program.tensors[static_cast<size_t>(id)].last(); };
    const auto size = [&](int32_t id, size_t axis) { return program.tensors[static_cast<size_t>(id)].shape[axis]; };
    std::vector<Check> checks;
    switch (op.code) {
      case OpCode::kEmbedding:
        checks.push_back(indices(op.inputs[0], 0, size(op.inputs[1], 0)));
        break;
      case OpCode::kKvWrite:
        checks.push_back(indices(op.inputs[0], -1, slots));
        break;
      case OpCode::kGatherRows:
        checks.push_back(indices(op.inputs[1], 0, 0, op.inputs[0]));
        break;
      case OpCode::kMoeMlp:
        checks.push_back(indices(op.inputs[1], 0, size(op.inputs[3], 0)));
        break;
      case OpCode::kAttention:
        checks.push_back({Check::Kind::kAttention, {op.inputs[3], op.inputs[4], op.inputs[5]}, static_cast<int64_t>(op.attrs[2]), static_cast<int64_t>(op.attrs[3]), blocks, -1});
        break;
      case OpCode::kMlaAttention:
        checks.push_back({Check::Kind::kAttention, {op.inputs[3], op.inputs[4], op.inputs[5]}, 0, static_cast<int64_t>(op.attrs[1]), blocks, -1});
        break;
      case OpCode::kSample:
        checks.push_back({Check::Kind::kSample, {op.inputs.begin() + 1, op.inputs.end()}, static_cast<int64_t>(op.attrs[0]), last(op.inputs[0]), 0, -1});
        break;
      default:
        break;
    }
    for (Check& check : checks) {
      bool computed = false;
      for (const int32_t id : check.tensors) computed |= program.tensors[static_cast<size_t>(id)].kind == TensorKind::kValue;
      if (computed) {
        plan.before_op[i].push_back(std::move(check));
      } else if (std::find(plan.at_launch.begin(), plan.at_launch.end(), check) == plan.at_launch.end()) {
        plan.at_launch.push_back(std::move(check));
      }
    }
  }
  return plan;
}

void run_check(const Check& check, const Program& program, const Dims& dims, const ViewOf& view) {
  switch (check.kind) {
    case Check::Kind::kIndices:
      return check_indices(check, program, dims, view);
    case Check::Kind::kAttention:
      return check_attention(check, program, dims, view);
    case Check::Kind::kSample:
      return check_sample(check, program, dims, view);
  }
}

void check_block_copies(const int32_t* pairs, size_t count, int64_t blocks) {
  if (count % 2 != 0) throw LaunchError("blockCopies has " + std::to_string(count) + " elements: it must hold pairs of source and destination");
  for (size_t i = 0; i < count; ++i) {
    if (pairs[i] < 0 || pairs[i] >= blocks) {
      throw LaunchError("blockCopies[" + std::to_string(i) + "] is " + std::to_string(pairs[i]) + ": it must be a block number " + range(0, blocks));
    }
  }
}

}  // namespace dsi
