#include "cpu/ops/row_kernels.h"

#include "dsi/isa.h"

namespace dsi {

const RowKernels& row_kernels() {
#if defined(__x86_64__)
  switch (current_isa()) {
    case Isa::kAvx512:
      return kRowKernelsAvx512;
    case Isa::kAvx2:
      return kRowKernelsAvx2;
    default:
      return kRowKernelsGeneric;
  }
#else
  return kRowKernelsGeneric;
#endif
}

}  // namespace dsi
