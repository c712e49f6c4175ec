#include "executor/load.h"

#include <cstring>
#include <new>
#include <stdexcept>

#include "cpu/ops/row_kernels.h"
#include "executor/errors.h"

namespace dsi {
namespace {

std::vector<Bytes> resolve(const std::vector<SourceRange>& ranges, FileCache& files) {
  std::vector<Bytes> parts;
  for (const SourceRange& range : ranges) {
    if (range.memory != nullptr || range.size == 0) {
      parts.push_back({range.memory, static_cast<size_t>(range.size)});
      continue;
    }
    auto& file = files[range.file];
    if (!file) file = std::make_unique<MappedFile>(range.file);
    parts.push_back({file->range(range.offset, range.size), static_cast<size_t>(range.size)});
  }
  return parts;
}

void release_pages(void* context, const uint8_t* data, size_t size) {
  for (const auto& entry : *static_cast<FileCache*>(context)) {
    if (entry.second && entry.second->contains(data)) entry.second->drop(data, size);
  }
}

// Norm weights and biases: f32, whatever the checkpoint's format.
std::vector<float> load_vector(const WeightSource& source, ThreadPool& pool) {
  const int64_t n = source.groups * source.rows * source.cols;
  std::vector<float> values(static_cast<size_t>(n));
  const int64_t width = source.format == Format::kF32 ? 4 : 2;
  if (source.format != Format::kF32 && source.format != Format::kF16 && source.format != Format::kBF16) {
    const auto packed = pack_weight(source, {Numerics::kExact, true}, pool);
    std::vector<int32_t> ids(static_cast<size_t>(source.rows));
    for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int32_t>(i);
    gather_packed_rows(*packed, ids.data(), source.rows, values.data(), source.cols, pool);
    return values;
  }
  std::vector<uint8_t> bytes;
  for (const Bytes& part : source.data) bytes.insert(bytes.end(), part.data, part.data + part.size);
  if (static_cast<int64_t>(bytes.size()) != n * width) {
    throw WeightError(std::to_string(n) + " elements take " + std::to_string(n * width) + " bytes and there are " + std::to_string(bytes.size()));
  }
  if (width == 4) {
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  const uint8_t* row = bytes.data();
  row_kernels().values_load(&row, 1, source.format == Format::kF16 ? KvDType::kF16 : KvDType::kBF16, n, values.data());
  return values;
}

}  // namespace

size_t load_weight(const WeightRequest& request, WeightSet& set, FileCache& files, ThreadPool& pool) {
  try {
    WeightSource source;
    source.format = request.format;
    source.groups = request.groups;
    source.rows = request.rows;
    source.cols = request.cols;
    source.data = resolve(request.data, files);
    source.block_scales = resolve(request.block_scales, files);
    source.block_rows = request.block_rows;
    source.block_cols = request.block_cols;
    source.scales = resolve(request.scales, files);
    source.zeros = resolve(request.zeros, files);
    source.group_size = request.group_size;
    source.perm = request.perm.empty() ? nullptr : request.perm.data();
    source.release = release_pages;
    source.release_context = &files;

    LoadedWeight loaded;
    size_t bytes = 0;
    const Numerics numerics = set.fast ? Numerics::kFast : Numerics::kExact;
    if (request.uses & kUseVector) {
      loaded.vector = load_vector(source, pool);
      bytes += loaded.vector.size() * sizeof(float);
    }
    const bool f32_product = (request.uses & kUseLinearF32) != 0;
    if (request.uses & (kUseEmbedding | kUseLinear | kUseHeadLinear | kUseExperts) || (f32_product && !set.fast)) {
      loaded.product = pack_weight(source, {numerics, false}, pool);
      bytes += loaded.product->bytes();
    }
    if (f32_product && set.fast) {
      loaded.product_f32 = pack_weight(source, {numerics, true}, pool);
      bytes += loaded.product_f32->bytes();
    }
    set.weights[request.name] = std::move(loaded);
    return bytes;
  } catch (const std::bad_alloc&) {
    throw WeightError("there is not enough memory to pack it");
  } catch (const CodedError&) {
    throw;
  } catch (const std::exception& e) {
    throw WeightError(e.what());
  }
}

}  // namespace dsi
