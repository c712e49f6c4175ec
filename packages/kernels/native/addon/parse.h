// JavaScript descriptions to the executor's structures. src/native/lower.ts has checked what they say; here only their types are.
#pragma once

#include <napi.h>

#include "addon/core.h"
#include "executor/load.h"
#include "executor/program.h"

namespace dsi {

Program parse_program(const Napi::Object& lowered);
// Memory sources are kept alive through `kept`.
WeightRequest parse_weight(const Napi::Object& description, std::vector<Napi::ObjectReference>& kept);

}  // namespace dsi
