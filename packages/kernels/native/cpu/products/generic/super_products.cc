#include "simd.h"
// simd.h first: the kernels below are written in its types
#include "../product_int8.inl.h"
#include "products.h"

namespace dsi::products {

ProductFn generic_super_product(Format format) {
  switch (format) {
    case Format::kQ2_K: return product_vector<Format::kQ2_K>;
    case Format::kQ3_K: return product_vector<Format::kQ3_K>;
    case Format::kQ4_K: return product_vector<Format::kQ4_K>;
    case Format::kQ5_K: return product_vector<Format::kQ5_K>;
    case Format::kQ6_K: return product_vector<Format::kQ6_K>;
    case Format::kIQ4_XS: return product_vector<Format::kIQ4_XS>;
    default: return nullptr;
  }
}

}  // namespace dsi::products
