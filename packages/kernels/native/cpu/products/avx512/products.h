#pragma once

#include "../kernel_table.h"

namespace dsi::products {

ProductFn avx512_block_product(Format format);
ProductFn avx512_super_product(Format format);

}  // namespace dsi::products
