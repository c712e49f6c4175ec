// Packs one checkpoint weight into a WeightSet.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "dsi/products.h"
#include "dsi/thread_pool.h"
#include "executor/mapped_file.h"
#include "executor/storage.h"

namespace dsi {

// Bit numbers, same order as weightUseNames in src/native/lower.ts.
enum WeightUse : uint32_t {
  kUseEmbedding = 1, kUseLinear = 2, kUseLinearF32 = 4, kUseHeadLinear = 8, kUseExperts = 16, kUseVector = 32,
};

// A range of a file, or memory that outlives the load.
struct SourceRange {
  std::string file;
  uint64_t offset = 0, size = 0;
  const uint8_t* memory = nullptr;
};

struct WeightRequest {
  std::string name;
  Format format;
  int64_t groups, rows, cols;
  uint32_t uses;
  std::vector<SourceRange> data, block_scales, scales, zeros;
  int64_t block_rows = 0, block_cols = 0, group_size = 0;
  std::vector<int32_t> perm;
};

// Files mapped for one loadWeights call; used by the step thread only.
using FileCache = std::unordered_map<std::string, std::unique_ptr<MappedFile>>;

// Returns the bytes now resident for the weight. Throws WeightError.
size_t load_weight(const WeightRequest& request, WeightSet& set, FileCache& files, ThreadPool& pool);

}  // namespace dsi
