// pack_weight: checks the source, then packs row groups in parallel, giving source ranges back as they are done.
#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>

#include "pack_blocks.h"
#include "packed_matrix.h"

namespace dsi {
namespace products {
namespace {

std::string text(int64_t n) { return std::to_string(n); }

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument("pack_weight: " + what); }

int64_t checked_product(int64_t a, int64_t b, const char* what) {
  int64_t result;
  if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &result)) refuse(std::string(what) + " overflows: " + text(a) + " x " + text(b));
  return result;
}

size_t total_size(const std::vector<Bytes>& parts) {
  size_t total = 0;
  for (const Bytes& p : parts) total += p.size;
  return total;
}

void check_size(const char* what, const std::vector<Bytes>& parts, int64_t expected, const WeightSource& s) {
  const size_t actual = total_size(parts);
  if (actual != static_cast<size_t>(expected))
    refuse(std::string(what) + " of a " + format_info(s.format).name + " weight [" + text(s.groups) + ", " + text(s.rows) + ", " +
           text(s.cols) + "] must have " + text(expected) + " bytes, has " + std::to_string(actual));
}

std::vector<float> concatenate_floats(const std::vector<Bytes>& parts) {
  std::vector<float> out(total_size(parts) / sizeof(float));
  uint8_t* p = reinterpret_cast<uint8_t*>(out.data());
  for (const Bytes& part : parts) {
    if (part.size != 0) std::memcpy(p, part.data, part.size);
    p += part.size;
  }
  return out;
}

}  // namespace

class Packer {
 public:
  Packer(const WeightSource& source, const PackOptions& options) : source_(source), info_(format_info(source.format)) {
    check();
    weight_ = std::make_unique<PackedMatrix>(source.format, source.groups, source.rows, source.cols,
                                             options.numerics == Numerics::kFast && !options.force_f32);
  }

  std::unique_ptr<PackedMatrix> run(ThreadPool& pool) {
    weight_->data_.reserve(std::max<size_t>(64, static_cast<size_t>(source_.groups) * weight_->group_bytes_));
    copy_scales();
    const int64_t groups = weight_->row_groups();
    const size_t row_group_file_bytes = std::max<size_t>(1, row_bytes_ * static_cast<size_t>(kLanes));
    const int64_t span = std::max<int64_t>(1, static_cast<int64_t>(kSpanBytes / row_group_file_bytes));
    const int64_t spans = (groups + span - 1) / span;
    pool.run(source_.groups * spans, [&](int64_t tile, int) {
      const int64_t matrix = tile / spans, first = tile % spans * span, last = std::min(first + span, groups);
      for (int64_t g = first; g < last; ++g) pack_row_group(matrix, g);
      release(matrix * source_.rows + first * kLanes, matrix * source_.rows + std::min(last * kLanes, source_.rows));
    });
    return std::move(weight_);
  }

 private:
  static constexpr size_t kSpanBytes = size_t{1} << 20;  // of source between two releases

  void check() {
    const WeightSource& s = source_;
    if (s.groups < 1 || s.rows < 1 || s.cols < 1)
      refuse("sizes must be positive, got [" + text(s.groups) + ", " + text(s.rows) + ", " + text(s.cols) + "]");
    if (s.cols % info_.block_elements != 0)
      refuse(std::string(info_.name) + " needs columns in multiples of " + text(info_.block_elements) + ", got " + text(s.cols));
    const int64_t all_rows = checked_product(s.groups, s.rows, "rows");
    row_bytes_ = static_cast<size_t>(checked_product(s.cols / info_.block_elements, info_.block_bytes, "a row's bytes"));
    // 64: slack for padded row groups and alignment
    checked_product(checked_product(all_rows + 16 * s.groups, static_cast<int64_t>(row_bytes_), "bytes"), 64, "bytes");
    check_size("data", s.data, all_rows * static_cast<int64_t>(row_bytes_), s);
    int64_t rows = 0;
    for (const Bytes& part : s.data) {
      if (part.size % row_bytes_ != 0)
        refuse("a part of the data must hold whole rows of " + std::to_string(row_bytes_) + " bytes, has " + std::to_string(part.size));
      part_rows_.push_back(rows);
      rows += static_cast<int64_t>(part.size / row_bytes_);
    }
    part_rows_.push_back(rows);
    if (s.format == Format::kF8_E4M3 || s.format == Format::kF8_E5M2) {
      if (s.block_rows < 1 || s.block_cols < 1)
        refuse("F8 weights need scale blocks of positive size, got " + text(s.block_rows) + " x " + text(s.block_cols));
      const int64_t scale_rows = (s.rows - 1) / s.block_rows + 1, scale_cols = (s.cols - 1) / s.block_cols + 1;
      check_size("block scales", s.block_scales, checked_product(s.groups * scale_rows, scale_cols * 4, "scales"), s);
    }
    if (s.format == Format::kINT4_GROUP) {
      if (s.group_size < 1 || s.cols % s.group_size != 0)
        refuse("INT4_GROUP needs a group size that divides its " + text(s.cols) + " columns, got " + text(s.group_size));
      const int64_t expected = checked_product(all_rows, s.cols / s.group_size * 4, "scales");
      check_size("scales", s.scales, expected, s);
      check_size("zeros", s.zeros, expected, s);
    }
    if (s.perm != nullptr) {
      std::vector<bool> seen(static_cast<size_t>(s.cols));
      for (int64_t j = 0; j < s.cols; ++j) {
        const int32_t p = s.perm[j];
        if (p < 0 || p >= s.cols || seen[static_cast<size_t>(p)])
          refuse("perm must be a permutation of [0, " + text(s.cols) + "), entry " + text(j) + " is " + text(p));
        seen[static_cast<size_t>(p)] = true;
      }
    }
  }

  void copy_scales() {
    const WeightSource& s = source_;
    if (s.format == Format::kF8_E4M3 || s.format == Format::kF8_E5M2) {
      weight_->scales_ = concatenate_floats(s.block_scales);
      weight_->block_rows_ = s.block_rows;
      weight_->block_cols_ = s.block_cols;
      weight_->scale_rows_ = (s.rows - 1) / s.block_rows + 1;
      weight_->scale_cols_ = (s.cols - 1) / s.block_cols + 1;
    } else if (s.format == Format::kINT4_GROUP) {
      weight_->scales_ = concatenate_floats(s.scales);
      weight_->zeros_ = concatenate_floats(s.zeros);
      weight_->block_cols_ = s.group_size;
      weight_->scale_rows_ = s.rows;
      weight_->scale_cols_ = s.cols / s.group_size;
      if (s.perm != nullptr) weight_->perm_.assign(s.perm, s.perm + s.cols);
    }
  }

  size_t part_of(int64_t row) const {
    return static_cast<size_t>(std::upper_bound(part_rows_.begin(), part_rows_.end(), row) - part_rows_.begin()) - 1;
  }

  const uint8_t* row(int64_t r) const {
    const size_t part = part_of(r);
    return source_.data[part].data + static_cast<size_t>(r - part_rows_[part]) * row_bytes_;
  }

  void pack_row_group(int64_t matrix, int64_t group) {
    const uint8_t* rows[kLanes] = {};
    const int64_t first = group * kLanes, count = std::min<int64_t>(kLanes, source_.rows - first);
    for (int64_t r = 0; r < count; ++r) rows[r] = row(matrix * source_.rows + first + r);
    uint8_t* out = weight_->data_.data() + static_cast<size_t>(matrix) * weight_->group_bytes_;
    switch (info_.layout) {
      case Layout::kRows:
        for (int64_t r = 0; r < count; ++r) std::memcpy(out + static_cast<size_t>(first + r) * row_bytes_, rows[r], row_bytes_);
        return;
      case Layout::kDense: return pack_dense(rows, out + static_cast<size_t>(group) * weight_->row_group_bytes_);
      case Layout::kVector: return pack_vector(rows, out + static_cast<size_t>(group) * weight_->row_group_bytes_);
    }
  }

  void pack_dense(const uint8_t* const rows[kLanes], uint8_t* out) const {
    std::memset(out, 0, weight_->row_group_bytes_);
    const size_t element = static_cast<size_t>(info_.block_bytes);
    const size_t run = source_.format == Format::kBF16 ? 2 : 1;  // columns that stay together
    constexpr int64_t kStrip = 64;                              // so that the destination stays in the cache
    for (int64_t k0 = 0; k0 < source_.cols; k0 += kStrip)
      for (int r = 0; r < kLanes; ++r) {
        if (rows[r] == nullptr) continue;
        const int64_t end = std::min(k0 + kStrip, source_.cols);
        for (int64_t k = k0; k < end; ++k) {
          const size_t column = static_cast<size_t>(k);
          std::memcpy(out + (column / run * run * kLanes + static_cast<size_t>(r) * run + column % run) * element,
                      rows[r] + column * element, element);
        }
      }
  }

  void pack_vector(const uint8_t* const rows[kLanes], uint8_t* out) const {
    const VectorLayout layout = vector_layout(source_.format);
    const int64_t blocks = source_.cols / layout.block;
    uint8_t* meta = out + blocks * code_bytes(layout);
    for (int64_t b = 0; b < blocks; ++b) {
      const uint8_t* block_rows[kLanes];
      for (int r = 0; r < kLanes; ++r) block_rows[r] = rows[r] == nullptr ? nullptr : rows[r] + b * info_.block_bytes;
      pack_block(source_.format, block_rows, out + b * code_bytes(layout), meta + b * meta_bytes(layout));
    }
  }

  void release(int64_t first, int64_t last) const {
    if (source_.release == nullptr) return;
    while (first < last) {
      const size_t part = part_of(first);
      const int64_t end = std::min(last, part_rows_[part + 1]);
      source_.release(source_.release_context, row(first), static_cast<size_t>(end - first) * row_bytes_);
      first = end;
    }
  }

  const WeightSource& source_;
  const FormatInfo& info_;
  size_t row_bytes_ = 0;
  std::vector<int64_t> part_rows_;  // first row of every part, then all rows
  std::unique_ptr<PackedMatrix> weight_;
};

}  // namespace products

std::unique_ptr<PackedWeight> pack_weight(const WeightSource& source, const PackOptions& options, ThreadPool& pool) {
  return products::Packer(source, options).run(pool);
}

}  // namespace dsi
