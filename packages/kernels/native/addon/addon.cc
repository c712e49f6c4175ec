// Entry point. All JavaScript handles live in the environment's instance data, so any number of worker threads can load the addon.
#include <napi.h>

#include "addon/wraps.h"
#include "dsi/isa.h"

namespace {

class Addon : public Napi::Addon<Addon> {
 public:
  Addon(Napi::Env env, Napi::Object exports) {
    DefineAddon(exports, {InstanceMethod("bestIsa", &Addon::best_isa), InstanceMethod("externalBytes", &Addon::external_bytes)});
    exports.Set("NativeBackend", dsi::NativeBackend::define(env));
    exports.Set("NativeWeights", dsi::NativeWeights::define(env));
    exports.Set("NativeKv", dsi::NativeKv::define(env));
    exports.Set("NativeExecutable", dsi::NativeExecutable::define(env));
  }

 private:
  // What the garbage collector has been told of native memory; process.memoryUsage() does not show it.
  Napi::Value external_bytes(const Napi::CallbackInfo& info) {
    return Napi::Number::New(info.Env(), static_cast<double>(Napi::MemoryManagement::AdjustExternalMemory(info.Env(), 0)));
  }
  Napi::Value best_isa(const Napi::CallbackInfo& info) { return Napi::String::New(info.Env(), dsi::isa_name(dsi::best_isa())); }
};

}  // namespace

NODE_API_ADDON(Addon)
