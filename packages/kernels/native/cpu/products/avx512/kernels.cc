#include "simd.h"
// simd.h first: the kernels below are written in its types
#include "../product_bf16.inl.h"
#include "../product_f32.inl.h"
#include "../quantize.inl.h"
#include "products.h"

namespace dsi::products {
namespace {

KernelTable build() {
  KernelTable t{};
  t.quantize_row = ::quantize_row;
  t.product_f32 = ::product_f32;
  t.product_bf16 = product_bf16;
  for (int i = 0; i < kFormatCount; ++i) {
    const Format f = static_cast<Format>(i);
    t.product_int8[i] = avx512_block_product(f);
    if (t.product_int8[i] == nullptr) t.product_int8[i] = avx512_super_product(f);
  }
  t.dequantize = ::dequantize;
  t.silu_mul = ::silu_mul;
  return t;
}

}  // namespace

const KernelTable& avx512_kernels() {
  static const KernelTable table = build();
  return table;
}

}  // namespace dsi::products
