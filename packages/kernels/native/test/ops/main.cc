// Runs every test on every instruction set of this machine.
#include "dsi/isa.h"
#include "test/ops/harness.h"

int main() {
  int failed = 0, passed = 0;
  for (const dsi::Isa isa : {dsi::Isa::kGeneric, dsi::Isa::kAvx2, dsi::Isa::kAvx512}) {
    if (static_cast<int>(isa) > static_cast<int>(dsi::best_isa())) continue;
    dsi::set_isa(isa);
    for (const auto& test : dsi::test::cases()) {
      try {
        test.body();
        ++passed;
      } catch (const std::exception& e) {
        ++failed;
        std::printf("FAILED %s (%s): %s\n", test.name.c_str(), dsi::isa_name(isa), e.what());
      }
    }
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
