#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "cpu/ops/row_kernels.h"

namespace dsi {
namespace {
#include "cpu/ops/lanes/lanes_avx512.h"

#include "cpu/ops/elementwise.inl"

#include "cpu/ops/attention_tile.inl"

#include "cpu/ops/sampling_scan.inl"
}  // namespace

extern const RowKernels kRowKernelsAvx512;
const RowKernels kRowKernelsAvx512 = {
#include "cpu/ops/row_kernel_table.inl"
};

}  // namespace dsi
