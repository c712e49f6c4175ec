#include "executor/executable.h"

#include <chrono>
#include <cmath>
#include <cstring>

#include "cpu/ops/moe_route.h"
#include "cpu/ops/parallel.h"
#include "cpu/ops/row_kernels.h"
#include "cpu/ops/sampler.h"
#include "executor/errors.h"

namespace dsi {
namespace {

int64_t nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

const char* const kDimNames[4] = {"T", "S", "R", "B"};

}  // namespace

Executable::Executable(Program program, std::shared_ptr<WeightSet> weights, std::shared_ptr<KvStorage> kv)
    : program_(std::move(program)),
      weights_(std::move(weights)),
      kv_(std::move(kv)),
      arena_(static_cast<size_t>(program_.arena_bytes) + 64),
      packed_(program_.tensors.size(), nullptr),
      packed_f32_(program_.tensors.size(), nullptr),
      vectors_(program_.tensors.size(), nullptr),
      inputs_(program_.inputs.size()),
      input_elements_(program_.inputs.size(), 0),
      checks_(plan_checks(program_, kv_->slots(), kv_->blocks)),
      products_(make_product_scratch()) {
  bind_weights();
  plan_rope();
}

void Executable::bind_weights() {
  const auto use = [&](const Op& op, int32_t id, const char* what, bool present) {
    if (!present) {
      throw ProgramError(std::string("op ") + op_name(op.code) + ": the weight \"" + tensor(id).name + "\" was not loaded for use as " + what +
                         ": give loadWeights the uses of this program");
    }
  };
  for (const Op& op : program_.ops) {
    for (const int32_t id : op.inputs) {
      if (id < 0 || tensor(id).kind != TensorKind::kWeight) continue;
      const auto found = weights_->weights.find(tensor(id).name);
      if (found == weights_->weights.end()) throw ProgramError("the weight \"" + tensor(id).name + "\" was not loaded");
      const size_t i = static_cast<size_t>(id);
      packed_[i] = found->second.product.get();
      packed_f32_[i] = found->second.product_f32 ? found->second.product_f32.get() : nullptr;
      vectors_[i] = found->second.vector.empty() ? nullptr : found->second.vector.data();
    }
    switch (op.code) {
      case OpCode::kRmsNorm:
        use(op, op.inputs[1], "a vector", vectors_[static_cast<size_t>(op.inputs[1])]);
        break;
      case OpCode::kAddRmsNorm:
        use(op, op.inputs[2], "a vector", vectors_[static_cast<size_t>(op.inputs[2])]);
        break;
      case OpCode::kMoeRoute:
        if (op.inputs[1] >= 0) use(op, op.inputs[1], "a vector", vectors_[static_cast<size_t>(op.inputs[1])]);
        break;
      case OpCode::kEmbedding:
      case OpCode::kHeadLinear:
        use(op, op.inputs[1], op_name(op.code), packed_[static_cast<size_t>(op.inputs[1])]);
        break;
      case OpCode::kMoeMlp:
        for (size_t i = 3; i < 6; ++i) use(op, op.inputs[i], "experts", packed_[static_cast<size_t>(op.inputs[i])]);
        break;
      case OpCode::kLinear: {
        const size_t n = (op.inputs.size() - 1) / 2;
        for (size_t i = 0; i < n; ++i) {
          const size_t w = static_cast<size_t>(op.inputs[1 + i]);
          // In exact numerics every product is f32, so one packing serves both uses.
          if (op.attrs[0] != 0 && packed_f32_[w] == nullptr && !program_.fast) packed_f32_[w] = packed_[w];
          use(op, op.inputs[1 + i], op.attrs[0] != 0 ? "linear_f32" : "linear", op.attrs[0] != 0 ? packed_f32_[w] : packed_[w]);
          const int32_t bias = op.inputs[1 + n + i];
          if (bias >= 0) use(op, bias, "a vector", vectors_[static_cast<size_t>(bias)]);
        }
        break;
      }
      default:
        break;
    }
  }
}

void Executable::plan_rope() {
  rope_of_op_.assign(program_.ops.size(), -1);
  for (size_t i = 0; i < program_.ops.size(); ++i) {
    const Op& op = program_.ops[i];
    if (op.code != OpCode::kRope) continue;
    const int32_t positions = op.inputs[1], inv_freq = op.inputs[2];
    const float scale = static_cast<float>(op.attrs[2]);
    int found = -1;
    for (size_t t = 0; t < rope_tables_.size(); ++t) {
      const RopeTable& table = rope_tables_[t];
      if (table.positions == positions && table.inv_freq == inv_freq && table.scale == scale) found = static_cast<int>(t);
    }
    if (found < 0) {
      RopeTable table;
      table.positions = positions;
      table.inv_freq = inv_freq;
      table.scale = scale;
      table.reusable = tensor(positions).kind != TensorKind::kValue && tensor(inv_freq).kind != TensorKind::kValue;
      found = static_cast<int>(rope_tables_.size());
      rope_tables_.push_back(std::move(table));
    }
    rope_of_op_[i] = found;
  }
}

void* Executable::data(int32_t id) const {
  const Tensor& t = tensor(id);
  switch (t.kind) {
    case TensorKind::kInput:
      return const_cast<uint8_t*>(inputs_[static_cast<size_t>(t.index)].data());
    case TensorKind::kConst:
      return const_cast<uint8_t*>(program_.consts[static_cast<size_t>(t.index)].bytes.data());
    default:
      return arena_.data() + t.offset;
  }
}

TensorView Executable::view(int32_t id) const {
  const Tensor& t = tensor(id);
  const int64_t n = t.kind == TensorKind::kInput ? static_cast<int64_t>(input_elements_[static_cast<size_t>(t.index)]) : t.elements(dims_);
  return {data(id), n};
}

const void* Executable::output(size_t index, size_t& elements) const {
  const int32_t id = program_.outputs[index];
  elements = static_cast<size_t>(tensor(id).elements(dims_));
  return data(id);
}

void Executable::prepare(const Dims& dims, const std::vector<Input>& inputs, const int32_t* block_copies, size_t block_copy_count, bool profile) {
  if (weights_->disposed) throw DisposedError("the WeightSet of program \"" + program_.name + "\"");
  if (kv_->disposed) throw DisposedError("the KvStorage of program \"" + program_.name + "\"");
  for (size_t i = 0; i < 4; ++i) {
    if (dims[i] < 0 || dims[i] > program_.max_dims[i]) {
      throw LaunchError(std::string("dims.") + kDimNames[i] + " is " + std::to_string(dims[i]) + ": it must be in 0.." + std::to_string(program_.max_dims[i]) + ", the maximum that the program was built for");
    }
  }
  dims_ = dims;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& t = tensor(program_.inputs[i]);
    if (!t.ragged && static_cast<int64_t>(inputs[i].elements) != t.elements(dims)) {
      throw LaunchError("input \"" + t.name + "\" has " + std::to_string(inputs[i].elements) + " elements: its shape under these dims has " + std::to_string(t.elements(dims)));
    }
    input_elements_[i] = inputs[i].elements;
    // Copied, so that what was checked is what is used, whoever writes to the arrays meanwhile. One spare element keeps data() non-null.
    inputs_[i].resize((inputs[i].elements + 1) * 4);
    if (inputs[i].elements > 0) std::memcpy(inputs_[i].data(), inputs[i].data, inputs[i].elements * 4);
  }
  block_copies_.assign(block_copies, block_copies + block_copy_count);
  check_block_copies(block_copies_.data(), block_copies_.size(), kv_->blocks);
  for (const Check& check : checks_.at_launch) {
    run_check(check, program_, dims_, [this](int32_t id) { return view(id); });
  }
  for (RopeTable& table : rope_tables_) table.ready = false;
  profiling_ = profile;
  profile_.assign(profile ? program_.ops.size() + 1 : 0, 0);
}

void Executable::run(ThreadPool& pool, const std::atomic<bool>& stopping) {
  int64_t before = profiling_ ? nanoseconds() : 0;
  copy_blocks(pool);
  const auto lap = [&](size_t slot) {
    if (!profiling_) return;
    const int64_t now = nanoseconds();
    profile_[slot] = now - before;
    before = now;
  };
  lap(program_.ops.size());
  for (size_t i = 0; i < program_.ops.size(); ++i) {
    if (stopping.load(std::memory_order_relaxed)) throw DisposedError("the Backend");
    try {
      for (const Check& check : checks_.before_op[i]) {
        run_check(check, program_, dims_, [this](int32_t id) { return view(id); });
      }
      run_op(i, pool);
    } catch (const std::exception& e) {
      throw LaunchError("ended at op " + std::to_string(i) + " (" + op_name(program_.ops[i].code) + "): " + e.what());
    }
    lap(i);
  }
}

void Executable::copy_blocks(ThreadPool& pool) {
  if (block_copies_.empty()) return;
  // Pairs in order within a tensor, as one may read what another wrote; tensors in parallel.
  pool.run(static_cast<int64_t>(kv_->tensors.size()), [&](int64_t i, int) {
    const KvTensor& t = kv_->tensors[static_cast<size_t>(i)];
    const size_t bytes = static_cast<size_t>(t.slot_bytes() * kv_->block_size);
    for (size_t p = 0; p + 1 < block_copies_.size(); p += 2) {
      std::memmove(t.memory.data() + static_cast<size_t>(block_copies_[p + 1]) * bytes, t.memory.data() + static_cast<size_t>(block_copies_[p]) * bytes, bytes);
    }
  });
}

const Executable::RopeTable& Executable::rope_table(size_t op_index, ThreadPool& pool) {
  RopeTable& table = rope_tables_[static_cast<size_t>(rope_of_op_[op_index])];
  if (table.ready && table.reusable) return table;
  const TensorView positions = view(table.positions), frequencies = view(table.inv_freq);
  const int64_t n = frequencies.elements;
  table.cosine.resize(static_cast<size_t>(positions.elements * n));
  table.sine.resize(table.cosine.size());
  for_rows(pool, positions.elements, n * 32, [&](int64_t begin, int64_t end, int) {
    for (int64_t t = begin; t < end; ++t) {
      for (int64_t i = 0; i < n; ++i) {
        // The product is rounded to f32 before the cosine, as Hugging Face does it.
        const float angle = static_cast<float>(positions.i32()[t]) * frequencies.f32()[i];
        table.cosine[static_cast<size_t>(t * n + i)] = std::cos(angle) * table.scale;
        table.sine[static_cast<size_t>(t * n + i)] = std::sin(angle) * table.scale;
      }
    }
  });
  table.ready = true;
  return table;
}

void Executable::run_op(size_t index, ThreadPool& pool) {
  const Op& op = program_.ops[index];
  const RowKernels& kernels = row_kernels();
  const auto in = [&](size_t i) { return op.inputs[i]; };
  const auto out = [&](size_t i) { return op.outputs[i]; };
  const auto elements = [&](int32_t id) { return tensor(id).elements(dims_); };
  const auto rows = [&](int32_t id) { return tensor(id).rows(dims_); };
  const auto attr = [&](size_t i) { return op.attrs[i]; };
  const auto whole = [&](size_t i) { return static_cast<int64_t>(op.attrs[i]); };

  switch (op.code) {
    case OpCode::kEmbedding:
      if (rows(out(0)) == 0) return;
      gather_packed_rows(*packed_[static_cast<size_t>(in(1))], i32(in(0)), rows(out(0)), f32(out(0)), tensor(out(0)).last(), pool);
      return;

    case OpCode::kRmsNorm: {
      const float *x = f32(in(0)), *w = vectors_[static_cast<size_t>(in(1))];
      float* y = f32(out(0));
      const int64_t d = tensor(out(0)).last();
      for_rows(pool, rows(out(0)), d, [&](int64_t begin, int64_t end, int) {
        for (int64_t r = begin; r < end; ++r) kernels.rms_norm(x + r * d, w, y + r * d, d, static_cast<float>(attr(0)));
      });
      return;
    }

    case OpCode::kAddRmsNorm: {
      const float *x = f32(in(0)), *residual = f32(in(1)), *w = vectors_[static_cast<size_t>(in(2))];
      float *total = f32(out(0)), *y = f32(out(1));
      const int64_t d = tensor(out(0)).last();
      for_rows(pool, rows(out(0)), d, [&](int64_t begin, int64_t end, int) {
        for (int64_t r = begin; r < end; ++r) {
          kernels.add_rms_norm(x + r * d, residual + r * d, w, total + r * d, y + r * d, d, static_cast<float>(attr(0)));
        }
      });
      return;
    }

    case OpCode::kLinear: {
      const int64_t m = rows(in(0));
      if (m == 0) return;
      const size_t n = (op.inputs.size() - 1) / 2;
      std::vector<LinearOutput> outputs(n);
      for (size_t i = 0; i < n; ++i) {
        const size_t w = static_cast<size_t>(in(1 + i));
        const int32_t bias = in(1 + n + i);
        outputs[i] = {attr(0) != 0 ? packed_f32_[w] : packed_[w], bias < 0 ? nullptr : vectors_[static_cast<size_t>(bias)], f32(out(i)), tensor(out(i)).last()};
      }
      linear(f32(in(0)), tensor(in(0)).last(), m, outputs.data(), static_cast<int>(n), *products_, pool);
      return;
    }

    case OpCode::kHeadLinear: {
      const int64_t m = dim_size(tensor(in(0)).shape[0], dims_);
      if (m > 0) head_linear(f32(in(0)), m, *packed_[static_cast<size_t>(in(1))], f32(out(0)), *products_, pool);
      return;
    }

    case OpCode::kRope: {
      const Tensor& x = tensor(in(0));
      const int64_t t_count = dim_size(x.shape[0], dims_), heads = x.shape[1], d = x.last(), n = tensor(in(2)).last();
      if (t_count == 0) return;
      const RopeTable& table = rope_table(index, pool);
      const auto rotate = attr(0) == 0 ? kernels.rope_half : kernels.rope_interleaved;
      const float* source = f32(in(0));
      float* y = f32(out(0));
      for_rows(pool, t_count, heads * d, [&](int64_t begin, int64_t end, int) {
        for (int64_t t = begin; t < end; ++t) {
          for (int64_t h = 0; h < heads; ++h) {
            const int64_t at = (t * heads + h) * d;
            rotate(source + at, table.cosine.data() + t * n, table.sine.data() + t * n, y + at, whole(1), n, d);
          }
        }
      });
      return;
    }

    case OpCode::kKvWrite: {
      const KvTensor& cache = kv(in(1));
      const int32_t* slots = i32(in(0));
      for_rows(pool, elements(in(0)), cache.width, [&](int64_t begin, int64_t end, int) {
        for (int64_t t = begin; t < end; ++t) {
          if (slots[t] < 0) continue;
          uint8_t* row = cache.memory.data() + slots[t] * cache.slot_bytes();
          for (size_t i = 2; i < op.inputs.size(); ++i) {
            const int64_t width = tensor(in(i)).last();
            kernels.kv_store(f32(in(i)) + t * width, row, width, cache.dtype);
            row += width * kv_element_bytes(cache.dtype);
          }
        }
      });
      return;
    }

    case OpCode::kAttention:
    case OpCode::kMlaAttention: {
      const bool mla = op.code == OpCode::kMlaAttention;
      const Tensor& q = tensor(in(0));
      const KvTensor& keys = kv(in(mla ? 2 : 1));
      const KvTensor& values = kv(in(2));
      AttentionCall call{};
      call.q = f32(in(0));
      call.q_width = q.last();
      call.heads = q.shape[1];
      call.kv_heads = mla ? 1 : whole(1);
      call.q_rest = mla ? f32(in(1)) : nullptr;
      call.rest_width = mla ? tensor(in(1)).last() : 0;
      call.keys = keys.memory.data();
      call.key_stride = keys.slot_bytes();
      call.key_dtype = keys.dtype;
      call.values = values.memory.data();
      call.value_stride = values.slot_bytes();
      call.value_width = mla ? q.last() : values.width / call.kv_heads;
      call.value_dtype = values.dtype;
      call.positions = i32(in(3));
      call.seq_starts = i32(in(4));
      call.block_tables = i32(in(5));
      call.sequences = dims_[1];
      call.table_columns = dims_[3];
      call.block_size = whole(mla ? 1 : 3);
      call.scale = static_cast<float>(attr(0));
      call.window = mla ? 0 : whole(2);
      call.out = f32(out(0));
      attention(call, attention_, pool);
      return;
    }

    case OpCode::kSiluMul:
    case OpCode::kAdd: {
      const auto apply = op.code == OpCode::kAdd ? kernels.add : kernels.silu_mul;
      const float *a = f32(in(0)), *b = f32(in(1));
      float* y = f32(out(0));
      // Pieces of a cache line's multiple; every element is computed alone, so where they end does not matter.
      constexpr int64_t kPiece = 1024;
      const int64_t n = elements(out(0));
      for_rows(pool, (n + kPiece - 1) / kPiece, kPiece, [&](int64_t begin, int64_t end, int) {
        const int64_t from = begin * kPiece, to = std::min(end * kPiece, n);
        apply(a + from, b + from, y + from, to - from);
      });
      return;
    }

    case OpCode::kSigmoidMul: {
      const float *x = f32(in(0)), *gate = f32(in(1));
      float* y = f32(out(0));
      const int64_t d = tensor(out(0)).last();
      for_rows(pool, rows(out(0)), d, [&](int64_t begin, int64_t end, int) {
        for (int64_t r = begin; r < end; ++r) kernels.sigmoid_mul(x + r * d, gate[r], y + r * d, d);
      });
      return;
    }

    case OpCode::kSlice: {
      const int64_t d = tensor(in(0)).last(), length = tensor(out(0)).last();
      const float* x = f32(in(0)) + whole(0);
      float* y = f32(out(0));
      for_rows(pool, rows(out(0)), length, [&](int64_t begin, int64_t end, int) {
        for (int64_t r = begin; r < end; ++r) std::memcpy(y + r * length, x + r * d, static_cast<size_t>(length) * sizeof(float));
      });
      return;
    }

    case OpCode::kGatherRows: {
      const int64_t d = tensor(out(0)).last();
      const float* x = f32(in(0));
      const int32_t* from = i32(in(1));
      float* y = f32(out(0));
      for_rows(pool, rows(out(0)), d, [&](int64_t begin, int64_t end, int) {
        for (int64_t r = begin; r < end; ++r) std::memcpy(y + r * d, x + from[r] * d, static_cast<size_t>(d) * sizeof(float));
      });
      return;
    }

    case OpCode::kMoeRoute: {
      MoeRouteCall call{};
      call.logits = f32(in(0));
      call.bias = in(1) < 0 ? nullptr : vectors_[static_cast<size_t>(in(1))];
      call.tokens = rows(in(0));
      call.experts = tensor(in(0)).last();
      call.sigmoid = attr(0) != 0;
      call.top_k = whole(1);
      call.groups = whole(2);
      call.top_groups = whole(3);
      call.top2sum = attr(4) != 0;
      call.normalize = attr(5) != 0;
      call.scale = static_cast<float>(attr(6));
      call.ids = i32(out(0));
      call.weights = f32(out(1));
      moe_route(call, pool);
      return;
    }

    case OpCode::kMoeMlp: {
      const int64_t m = rows(in(0));
      if (m == 0) return;
      moe_mlp(f32(in(0)), m, tensor(in(1)).last(), i32(in(1)), f32(in(2)), *packed_[static_cast<size_t>(in(3))], *packed_[static_cast<size_t>(in(4))], *packed_[static_cast<size_t>(in(5))], f32(out(0)), *products_, pool);
      return;
    }

    case OpCode::kSample: {
      SampleCall call{};
      call.logits = f32(in(0));
      call.rows = rows(in(0));
      call.vocabulary = tensor(in(0)).last();
      call.top_logprobs = whole(0);
      call.params_f32 = f32(in(1));
      call.params_i32 = i32(in(2));
      call.penalty_starts = i32(in(3));
      call.penalty_ids = i32(in(4));
      call.penalty_counts = i32(in(5));
      call.bias_starts = i32(in(6));
      call.bias_ids = i32(in(7));
      call.bias_values = f32(in(8));
      call.tokens = i32(out(0));
      call.status = i32(out(1));
      call.logprobs = f32(out(2));
      call.top_ids = i32(out(3));
      call.top_logprob_values = f32(out(4));
      sample(call, pool);
      return;
    }
  }
}

}  // namespace dsi
