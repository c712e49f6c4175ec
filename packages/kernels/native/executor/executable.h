// A Program bound to weights and KV storage.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "cpu/ops/attention.h"
#include "dsi/products.h"
#include "dsi/thread_pool.h"
#include "executor/checks.h"
#include "executor/program.h"
#include "executor/storage.h"

namespace dsi {

class Executable {
 public:
  // Throws ProgramError when a weight or KV tensor is absent or of another shape.
  Executable(Program program, std::shared_ptr<WeightSet> weights, std::shared_ptr<KvStorage> kv);

  const Program& program() const { return program_; }

  // First half of a launch, on the calling thread: binds sizes, copies the inputs, checks every index in them.
  // inputs: one (data, elements) an entry of program.inputs. Throws LaunchError or DisposedError; nothing has been run then.
  struct Input {
    const void* data;
    size_t elements;
  };
  void prepare(const Dims& dims, const std::vector<Input>& inputs, const int32_t* block_copies, size_t block_copy_count, bool profile);

  // Second half, on the step thread. Throws LaunchError.
  void run(ThreadPool& pool, const std::atomic<bool>& stopping);

  // After run(): where an output lies, and its elements. Valid until the next prepare().
  const void* output(size_t index, size_t& elements) const;
  const std::vector<int64_t>& profile() const { return profile_; }  // nanoseconds an op, then those of block copies
  int64_t memory_bytes() const { return static_cast<int64_t>(arena_.size()); }

 private:
  struct RopeTable {
    int32_t positions, inv_freq;
    float scale;
    bool reusable;       // its operands do not change within a launch
    bool ready = false;
    std::vector<float> cosine, sine;  // [T, n]
  };

  void bind_weights();
  void plan_rope();
  void copy_blocks(ThreadPool& pool);
  void run_op(size_t index, ThreadPool& pool);
  const RopeTable& rope_table(size_t op_index, ThreadPool& pool);

  const Tensor& tensor(int32_t id) const { return program_.tensors[static_cast<size_t>(id)]; }
  void* data(int32_t id) const;
  float* f32(int32_t id) const { return static_cast<float*>(data(id)); }
  int32_t* i32(int32_t id) const { return static_cast<int32_t*>(data(id)); }
  const KvTensor& kv(int32_t id) const { return kv_->tensors[static_cast<size_t>(tensor(id).index)]; }
  TensorView view(int32_t id) const;

  Program program_;
  std::shared_ptr<WeightSet> weights_;
  std::shared_ptr<KvStorage> kv_;
  ZeroedMemory arena_;
  std::vector<const PackedWeight*> packed_;  // by tensor id
  std::vector<const PackedWeight*> packed_f32_;
  std::vector<const float*> vectors_;
  std::vector<std::vector<uint8_t>> inputs_;
  std::vector<size_t> input_elements_;
  std::vector<int32_t> block_copies_;
  Dims dims_{};
  CheckPlan checks_;
  std::vector<RopeTable> rope_tables_;
  std::vector<int> rope_of_op_;
  AttentionScratch attention_;
  std::unique_ptr<ProductScratch, void (*)(ProductScratch*)> products_;
  bool profiling_ = false;
  std::vector<int64_t> profile_;
};

}  // namespace dsi
