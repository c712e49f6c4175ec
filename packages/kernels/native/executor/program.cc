#include "executor/program.h"

namespace dsi {

const char* op_name(OpCode code) {
  static const char* const names[kOpCount] = {
      "embedding",     "rms_norm", "add_rms_norm", "linear",      "head_linear", "rope",        "kv_write",  "attention",
      "mla_attention", "silu_mul", "add",          "sigmoid_mul", "slice",       "gather_rows", "moe_route", "moe_mlp",
      "sample"};
  return names[static_cast<int>(code)];
}

}  // namespace dsi
