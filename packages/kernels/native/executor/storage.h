// Memory that programs are bound to: weights and KV tensors.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "cpu/ops/row_kernels.h"
#include "dsi/products.h"

namespace dsi {

// Zeroed memory, 64-byte aligned. Pages are touched only when used.
class ZeroedMemory {
 public:
  ZeroedMemory() = default;
  explicit ZeroedMemory(size_t bytes);
  ~ZeroedMemory();
  ZeroedMemory(ZeroedMemory&& other) noexcept;
  ZeroedMemory& operator=(ZeroedMemory&& other) noexcept;
  uint8_t* data() const { return data_; }
  size_t size() const { return bytes_; }

 private:
  uint8_t* data_ = nullptr;
  size_t bytes_ = 0;
};

// What one weight was packed to; which of these exist depends on how the programs use it.
struct LoadedWeight {
  std::unique_ptr<PackedWeight> product;      // embedding, linear, head_linear, experts
  std::unique_ptr<PackedWeight> product_f32;  // linear_f32, where that differs
  std::vector<float> vector;                  // vector: norms, biases
};

// `disposed` may be set while a launch runs; the memory is freed by a job behind that launch.
struct WeightSet {
  bool fast = false;
  std::unordered_map<std::string, LoadedWeight> weights;
  std::atomic<bool> disposed{false};
};

struct KvTensor {
  std::string name;
  int64_t width;
  KvDType dtype;
  ZeroedMemory memory;
  int64_t slot_bytes() const { return width * kv_element_bytes(dtype); }
};

struct KvStorage {
  int64_t blocks, block_size;
  std::vector<KvTensor> tensors;
  std::atomic<bool> disposed{false};
  int64_t slots() const { return blocks * block_size; }
};

}  // namespace dsi
