#pragma once

#include "../kernel_table.h"

namespace dsi::products {

ProductFn avx2_block_product(Format format);
ProductFn avx2_super_product(Format format);

}  // namespace dsi::products
