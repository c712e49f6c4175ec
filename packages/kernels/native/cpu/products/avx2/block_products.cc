#include "simd.h"
// simd.h first: the kernels below are written in its types
#include "../product_int8.inl.h"
#include "products.h"

namespace dsi::products {

ProductFn avx2_block_product(Format format) {
  switch (format) {
    case Format::kQ4_0: return product_vector<Format::kQ4_0>;
    case Format::kQ4_1: return product_vector<Format::kQ4_1>;
    case Format::kQ5_0: return product_vector<Format::kQ5_0>;
    case Format::kQ5_1: return product_vector<Format::kQ5_1>;
    case Format::kQ8_0: return product_vector<Format::kQ8_0>;
    case Format::kIQ4_NL: return product_vector<Format::kIQ4_NL>;
    case Format::kMXFP4: return product_vector<Format::kMXFP4>;
    default: return nullptr;
  }
}

}  // namespace dsi::products
