// Run-time choice of the instruction set: CPUID and the OS's register state (XGETBV) both count.
#pragma once

namespace dsi {

enum class Isa { kGeneric, kAvx2, kAvx512 };  // kAvx512 = F, BW, DQ, VL, VNNI, BF16

// Best that this machine offers, or a lower one forced by set_isa (tests, `--isa`). set_isa throws if the machine lacks it.
Isa current_isa();
Isa best_isa();
void set_isa(Isa isa);
const char* isa_name(Isa isa);

}  // namespace dsi
