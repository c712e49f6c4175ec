#include <napi.h>

#include "dsi/isa.h"

namespace {

class Addon : public Napi::Addon<Addon> {
 public:
  Addon(Napi::Env env, Napi::Object exports) {
    (void)env;
    DefineAddon(exports, {InstanceMethod("bestIsa", &Addon::BestIsa)});
  }

 private:
  Napi::Value BestIsa(const Napi::CallbackInfo& info) {
    return Napi::String::New(info.Env(), dsi::isa_name(dsi::best_isa()));
  }
};

}  // namespace

NODE_API_ADDON(Addon)
