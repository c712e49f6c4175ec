#include "packed_matrix.h"

#include "dsi/isa.h"
#include "vector_layout.h"

namespace dsi::products {

const KernelTable& current_kernels() {
#if defined(__x86_64__)
  switch (current_isa()) {
    case Isa::kAvx512: return avx512_kernels();
    case Isa::kAvx2: return avx2_kernels();
    case Isa::kGeneric: break;
  }
#endif
  return generic_kernels();
}

ActivationKind fast_kind(Format format, const KernelTable& kernels) {
  if (format == Format::kBF16) return kernels.product_bf16 != nullptr ? ActivationKind::kBF16 : ActivationKind::kF32;
  if (kernels.product_int8[static_cast<int>(format)] == nullptr) return ActivationKind::kF32;
  return vector_layout(format).block == 256 ? ActivationKind::kSuper : ActivationKind::kBlock32;
}

PackedMatrix::PackedMatrix(Format format, int64_t groups, int64_t rows, int64_t cols, bool fast)
    : format_(format), groups_(groups), rows_(rows), cols_(cols), fast_(fast) {
  const FormatInfo& info = format_info(format);
  const size_t k = static_cast<size_t>(cols);
  switch (info.layout) {
    case Layout::kDense:
      row_group_bytes_ = (format == Format::kBF16 ? (k + 1) / 2 * 2 : k) * static_cast<size_t>(kLanes * info.block_bytes);
      if (row_group_bytes_ % 4096 == 0) row_group_bytes_ += 64;  // row groups read side by side must not meet in one cache set
      break;
    case Layout::kVector: {
      const VectorLayout l = vector_layout(format);
      row_group_bytes_ = (k / static_cast<size_t>(l.block) * static_cast<size_t>(code_bytes(l) + meta_bytes(l)) + 63) / 64 * 64;
      break;
    }
    case Layout::kRows:
      row_bytes_ = k / static_cast<size_t>(info.block_elements) * static_cast<size_t>(info.block_bytes);
      break;
  }
  group_bytes_ = info.layout == Layout::kRows ? static_cast<size_t>(rows) * row_bytes_
                                              : static_cast<size_t>(row_groups()) * row_group_bytes_;
}

size_t PackedMatrix::bytes() const {
  return data_.size() + (scales_.size() + zeros_.size()) * sizeof(float) + perm_.size() * sizeof(int32_t);
}

MatrixView PackedMatrix::view(int64_t group) const {
  MatrixView v{};
  v.format = format_;
  v.layout = layout();
  v.rows = rows_;
  v.cols = cols_;
  v.data = data_.data() + static_cast<size_t>(group) * group_bytes_;
  v.row_group_bytes = row_group_bytes_;
  v.row_bytes = row_bytes_;
  const int64_t scale_offset = group * scale_rows_ * scale_cols_;
  v.scales = scales_.data() + scale_offset;
  v.zeros = zeros_.empty() ? nullptr : zeros_.data() + scale_offset;
  v.scale_cols = scale_cols_;
  v.block_rows = block_rows_;
  v.block_cols = block_cols_;
  return v;
}

}  // namespace dsi::products
