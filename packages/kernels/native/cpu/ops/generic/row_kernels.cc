#include <cstdint>
#include <cstring>

#include "cpu/ops/row_kernels.h"

namespace dsi {
namespace {
#include "cpu/ops/lanes/lanes_generic.h"

#include "cpu/ops/elementwise.inl"

#include "cpu/ops/attention_tile.inl"

#include "cpu/ops/sampling_scan.inl"
}  // namespace

extern const RowKernels kRowKernelsGeneric;
const RowKernels kRowKernelsGeneric = {
#include "cpu/ops/row_kernel_table.inl"
};

}  // namespace dsi
