#pragma once

#include "../kernel_table.h"

namespace dsi::products {

ProductFn generic_block_product(Format format);
ProductFn generic_super_product(Format format);

}  // namespace dsi::products
