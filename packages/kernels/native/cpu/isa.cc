#include "dsi/isa.h"

#include <atomic>
#include <stdexcept>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace dsi {
namespace {

#if defined(__x86_64__)
struct Registers {
  unsigned a, b, c, d;
};

Registers cpuid(unsigned leaf, unsigned subleaf) {
  Registers r{0, 0, 0, 0};
  if (__get_cpuid_max(0, nullptr) < leaf) return r;
  __cpuid_count(leaf, subleaf, r.a, r.b, r.c, r.d);
  return r;
}

bool bit(unsigned word, int index) { return (word >> index & 1u) != 0; }

// Which register files the operating system saves on a context switch.
uint64_t saved_state() {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<uint64_t>(high) << 32 | low;
}

Isa detect() {
  const Registers one = cpuid(1, 0);
  if (!bit(one.c, 27)) return Isa::kGeneric;  // OSXSAVE
  const uint64_t state = saved_state();
  const Registers seven = cpuid(7, 0);
  const Registers seven_one = seven.a >= 1 ? cpuid(7, 1) : Registers{0, 0, 0, 0};
  const bool ymm = (state & 0x6) == 0x6;     // XMM, YMM
  const bool zmm = (state & 0xe6) == 0xe6;   // + opmask, ZMM0-15 high, ZMM16-31
  const bool avx2 = ymm && bit(one.c, 28) && bit(one.c, 12) && bit(one.c, 29) && bit(seven.b, 5);  // AVX, FMA, F16C, AVX2
  if (!avx2) return Isa::kGeneric;
  const bool avx512 = zmm && bit(seven.b, 16) && bit(seven.b, 17) && bit(seven.b, 30) && bit(seven.b, 31) &&  // F, DQ, BW, VL
                      bit(seven.c, 11) && bit(seven_one.a, 5);                                            // VNNI, BF16
  return avx512 ? Isa::kAvx512 : Isa::kAvx2;
}
#else
Isa detect() { return Isa::kGeneric; }
#endif

std::atomic<Isa>& chosen() {
  static std::atomic<Isa> isa{best_isa()};
  return isa;
}

}  // namespace

Isa best_isa() {
  static const Isa isa = detect();
  return isa;
}

Isa current_isa() { return chosen().load(std::memory_order_relaxed); }

void set_isa(Isa isa) {
  if (static_cast<int>(isa) > static_cast<int>(best_isa())) {
    throw std::invalid_argument(std::string("this machine has no ") + isa_name(isa) + ": the best it offers is " +
                                isa_name(best_isa()));
  }
  chosen().store(isa, std::memory_order_relaxed);
}

const char* isa_name(Isa isa) {
  switch (isa) {
    case Isa::kAvx512:
      return "avx512";
    case Isa::kAvx2:
      return "avx2";
    default:
      return "generic";
  }
}

}  // namespace dsi
