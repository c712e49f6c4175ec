// The one implementation of PackedWeight.
#pragma once

#include <vector>

#include "aligned_buffer.h"
#include "kernel_table.h"

namespace dsi::products {

class PackedMatrix final : public PackedWeight {
 public:
  PackedMatrix(Format format, int64_t groups, int64_t rows, int64_t cols, bool fast);

  int64_t groups() const override { return groups_; }
  int64_t rows() const override { return rows_; }
  int64_t cols() const override { return cols_; }
  size_t bytes() const override;

  Format format() const { return format_; }
  Layout layout() const { return format_info(format_).layout; }
  // Whether products may quantise activations.
  bool fast() const { return fast_; }
  MatrixView view(int64_t group) const;
  int64_t row_groups() const { return (rows_ + kLanes - 1) / kLanes; }
  // Column j multiplies activation element perm()[j]; null when it multiplies element j.
  const int32_t* perm() const { return perm_.empty() ? nullptr : perm_.data(); }
  ActivationKind kind(const KernelTable& kernels) const {
    return fast_ ? fast_kind(format_, kernels) : ActivationKind::kF32;
  }

 private:
  friend class Packer;
  Format format_;
  int64_t groups_, rows_, cols_;
  bool fast_;
  size_t row_group_bytes_ = 0, row_bytes_ = 0, group_bytes_ = 0;
  AlignedBuffer data_;
  std::vector<float> scales_, zeros_;
  int64_t scale_rows_ = 0, scale_cols_ = 0, block_rows_ = 1, block_cols_ = 1;
  std::vector<int32_t> perm_;
};

inline const PackedMatrix& as_matrix(const PackedWeight& weight) { return static_cast<const PackedMatrix&>(weight); }

}  // namespace dsi::products
