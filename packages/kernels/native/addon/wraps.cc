#include "addon/wraps.h"

#include <mutex>
#include <new>

#include "addon/parse.h"
#include "dsi/isa.h"
#include "executor/errors.h"

namespace dsi {
namespace {

// The instruction set is one for the whole process, as packed weights depend on it; it is chosen by the first of the backends alive.
struct LiveBackends {
  std::mutex mutex;
  int count = 0;
};
LiveBackends& live_backends() {
  static LiveBackends live;
  return live;
}

void choose_isa(Napi::Env env, const std::string& wanted) {
  LiveBackends& live = live_backends();
  std::lock_guard<std::mutex> lock(live.mutex);
  Isa isa = live.count > 0 ? current_isa() : best_isa();
  if (!wanted.empty()) {
    bool known = false;
    for (const Isa candidate : {Isa::kGeneric, Isa::kAvx2, Isa::kAvx512}) {
      if (wanted == isa_name(candidate)) {
        isa = candidate;
        known = true;
      }
    }
    if (!known) throw coded_error(env, "DSI_OPTION", "isa is \"" + wanted + "\": it must be generic, avx2 or avx512");
  }
  if (live.count > 0 && isa != current_isa()) {
    throw coded_error(env, "DSI_OPTION", std::string("isa is \"") + wanted + "\" while another backend of this process runs on " + isa_name(current_isa()) + ": dispose that one first");
  }
  try {
    set_isa(isa);
  } catch (const std::exception& e) {
    throw coded_error(env, "DSI_OPTION", e.what());
  }
  ++live.count;
}

void forget_backend() {
  LiveBackends& live = live_backends();
  std::lock_guard<std::mutex> lock(live.mutex);
  --live.count;
}

// Runs f; what it throws becomes a JavaScript error with a code.
template <class F>
auto translated(Napi::Env env, const F& f) {
  try {
    return f();
  } catch (const CodedError& e) {
    throw coded_error(env, e.code(), e.what());
  } catch (const std::bad_alloc&) {
    throw coded_error(env, "DSI_MEMORY", "there is not enough memory");
  }
}

// Keeps `other` from being collected as long as `self` is not, by an ordinary property.
void keep(const Napi::CallbackInfo& info, const char* name, const Napi::Value& other) {
  info.This().As<Napi::Object>().DefineProperty(Napi::PropertyDescriptor::Value(name, other, napi_default));
}

Napi::Value host_array(Napi::Env env, const Tensor& tensor, const void* data, size_t elements) {
  Napi::ArrayBuffer buffer = Napi::ArrayBuffer::New(env, elements * 4);
  if (elements > 0) std::memcpy(buffer.Data(), data, elements * 4);
  if (tensor.is_i32) return Napi::Int32Array::New(env, elements, buffer, 0);
  return Napi::Float32Array::New(env, elements, buffer, 0);
}

}  // namespace

// --- NativeBackend

Napi::Function NativeBackend::define(Napi::Env env) {
  return DefineClass(env, "NativeBackend",
                     {InstanceMethod("isa", &NativeBackend::isa), InstanceMethod("threads", &NativeBackend::threads),
                      InstanceMethod("dispose", &NativeBackend::dispose)});
}

NativeBackend::NativeBackend(const Napi::CallbackInfo& info) : ObjectWrap(info) {
  const int threads = info[0].As<Napi::Number>().Int32Value();
  choose_isa(info.Env(), info[1].As<Napi::String>().Utf8Value());
  counted_ = true;
  try {
    core_ = std::make_shared<BackendCore>(info.Env(), threads);
  } catch (const std::exception& e) {
    close();
    throw coded_error(info.Env(), "DSI_OPTION", "a pool of " + std::to_string(threads) + " threads cannot be started: " + e.what());
  }
}

NativeBackend::~NativeBackend() { close(); }

void NativeBackend::close() {
  if (core_) core_->close();
  core_.reset();
  if (counted_) forget_backend();
  counted_ = false;
}

std::shared_ptr<BackendCore> NativeBackend::core(Napi::Env env) const {
  if (!core_) throw coded_error(env, "DSI_DISPOSED", "the Backend");
  return core_;
}

Napi::Value NativeBackend::isa(const Napi::CallbackInfo& info) { return Napi::String::New(info.Env(), isa_name(current_isa())); }
Napi::Value NativeBackend::threads(const Napi::CallbackInfo& info) { return Napi::Number::New(info.Env(), core(info.Env())->threads()); }
void NativeBackend::dispose(const Napi::CallbackInfo&) { close(); }

// --- NativeWeights

Napi::Function NativeWeights::define(Napi::Env env) {
  return DefineClass(env, "NativeWeights",
                     {InstanceMethod("pack", &NativeWeights::pack), InstanceMethod("endLoad", &NativeWeights::end_load),
                      InstanceMethod("dispose", &NativeWeights::dispose)});
}

NativeWeights::NativeWeights(const Napi::CallbackInfo& info)
    : ObjectWrap(info),
      core_(NativeBackend::Unwrap(info[0].As<Napi::Object>())->core(info.Env())),
      set_(std::make_shared<WeightSet>()),
      files_(std::make_shared<FileCache>()) {
  set_->fast = info[1].As<Napi::Boolean>();
  keep(info, "backend", info[0]);
}

NativeWeights::~NativeWeights() {
  release();
  bytes_.set(Env(), 0);
}

Napi::Value NativeWeights::pack(const Napi::CallbackInfo& info) {
  if (set_->disposed) throw coded_error(info.Env(), "DSI_DISPOSED", "the WeightSet");
  auto ticket = std::make_unique<Ticket>(info.Env());
  auto request = std::make_shared<WeightRequest>(parse_weight(info[0].As<Napi::Object>(), ticket->kept));
  auto bytes = std::make_shared<size_t>(0);
  auto* pool = &core_->step().pool();
  const std::atomic<bool>* stopping = &core_->step().stopping();
  ticket->work = [request, bytes, pool, stopping, set = set_, files = files_] {
    if (stopping->load()) throw DisposedError("the Backend");
    if (set->disposed) throw DisposedError("the WeightSet");
    *bytes = load_weight(*request, *set, *files, *pool);
  };
  ticket->result = [this, bytes](Napi::Env env) -> Napi::Value {
    if (!set_->disposed) bytes_.set(env, bytes_.get() + static_cast<int64_t>(*bytes));
    return Napi::Number::New(env, static_cast<double>(*bytes));
  };
  ticket->kept.push_back(Napi::Persistent(info.This().As<Napi::Object>()));
  return core_->start(info.Env(), std::move(ticket));
}

void NativeWeights::end_load(const Napi::CallbackInfo&) {
  core_->run_behind([files = files_] { files->clear(); });
}

void NativeWeights::dispose(const Napi::CallbackInfo& info) {
  release();
  bytes_.set(info.Env(), 0);
}

void NativeWeights::release() {
  if (set_->disposed.exchange(true)) return;
  core_->run_behind([set = set_, files = files_] {
    set->weights.clear();
    files->clear();
  });
}

// --- NativeKv

Napi::Function NativeKv::define(Napi::Env env) {
  return DefineClass(env, "NativeKv", {InstanceMethod("dispose", &NativeKv::dispose)});
}

NativeKv::NativeKv(const Napi::CallbackInfo& info)
    : ObjectWrap(info),
      core_(NativeBackend::Unwrap(info[0].As<Napi::Object>())->core(info.Env())),
      storage_(std::make_shared<KvStorage>()) {
  const auto names = info[1].As<Napi::Array>();
  const auto widths = info[2].As<Napi::Int32Array>(), dtypes = info[3].As<Napi::Int32Array>();
  storage_->blocks = info[4].As<Napi::Number>().Int64Value();
  storage_->block_size = info[5].As<Napi::Number>().Int64Value();
  int64_t bytes = 0;
  translated(info.Env(), [&] {
    for (uint32_t i = 0; i < names.Length(); ++i) {
      KvTensor tensor{names.Get(i).As<Napi::String>().Utf8Value(), widths[i], static_cast<KvDType>(dtypes[i]), {}};
      const int64_t size = tensor.slot_bytes() * storage_->slots();
      tensor.memory = ZeroedMemory(static_cast<size_t>(size));
      bytes += size;
      storage_->tensors.push_back(std::move(tensor));
    }
  });
  bytes_.set(info.Env(), bytes);
  keep(info, "backend", info[0]);
}

NativeKv::~NativeKv() {
  release();
  bytes_.set(Env(), 0);
}

void NativeKv::dispose(const Napi::CallbackInfo& info) {
  release();
  bytes_.set(info.Env(), 0);
}

void NativeKv::release() {
  if (storage_->disposed.exchange(true)) return;
  core_->run_behind([storage = storage_] { storage->tensors.clear(); });
}

// --- NativeExecutable

Napi::Function NativeExecutable::define(Napi::Env env) {
  return DefineClass(env, "NativeExecutable",
                     {InstanceMethod("launch", &NativeExecutable::launch), InstanceMethod("dispose", &NativeExecutable::dispose)});
}

NativeExecutable::NativeExecutable(const Napi::CallbackInfo& info)
    : ObjectWrap(info), core_(NativeBackend::Unwrap(info[0].As<Napi::Object>())->core(info.Env())) {
  const auto& weights = NativeWeights::Unwrap(info[2].As<Napi::Object>())->set();
  const auto& kv = NativeKv::Unwrap(info[3].As<Napi::Object>())->storage();
  if (weights->disposed) throw coded_error(info.Env(), "DSI_DISPOSED", "the WeightSet");
  if (kv->disposed) throw coded_error(info.Env(), "DSI_DISPOSED", "the KvStorage");
  executable_ = translated(info.Env(), [&] { return std::make_shared<Executable>(parse_program(info[1].As<Napi::Object>()), weights, kv); });
  bytes_.set(info.Env(), executable_->memory_bytes());
  keep(info, "backend", info[0]);
  keep(info, "weights", info[2]);
  keep(info, "kv", info[3]);
}

NativeExecutable::~NativeExecutable() { bytes_.set(Env(), 0); }

void NativeExecutable::dispose(const Napi::CallbackInfo& info) {
  executable_.reset();
  bytes_.set(info.Env(), 0);
}

Napi::Value NativeExecutable::launch(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (!executable_) throw coded_error(env, "DSI_DISPOSED", "the Executable");
  if (core_->closed()) throw coded_error(env, "DSI_DISPOSED", "the Backend");
  if (*busy_) throw coded_error(env, "DSI_LAUNCH", "the launch before has not settled: await it first, an executable runs one at a time");
  const auto dims_array = info[0].As<Napi::Float64Array>();
  Dims dims;
  for (size_t i = 0; i < 4; ++i) dims[i] = static_cast<int64_t>(dims_array[i]);
  const auto arrays = info[1].As<Napi::Array>();
  std::vector<Executable::Input> inputs;
  for (uint32_t i = 0; i < arrays.Length(); ++i) {
    const auto array = arrays.Get(i).As<Napi::TypedArray>();
    const auto* bytes = static_cast<const uint8_t*>(array.ArrayBuffer().Data());
    inputs.push_back({bytes == nullptr ? nullptr : bytes + array.ByteOffset(), array.ElementLength()});
  }
  const int32_t* copies = nullptr;
  size_t copy_count = 0;
  if (info[2].IsTypedArray()) {
    const auto array = info[2].As<Napi::Int32Array>();
    copies = array.Data();
    copy_count = array.ElementLength();
  }
  translated(env, [&] { executable_->prepare(dims, inputs, copies, copy_count, info[3].As<Napi::Boolean>()); });

  auto ticket = std::make_unique<Ticket>(env);
  auto* pool = &core_->step().pool();
  const std::atomic<bool>* stopping = &core_->step().stopping();
  ticket->work = [executable = executable_, pool, stopping] { executable->run(*pool, *stopping); };
  ticket->settled = [busy = busy_] { *busy = false; };
  ticket->result = [executable = executable_](Napi::Env e) -> Napi::Value {
    const Program& program = executable->program();
    Napi::Array outputs = Napi::Array::New(e, program.outputs.size());
    for (size_t i = 0; i < program.outputs.size(); ++i) {
      size_t elements;
      const void* data = executable->output(i, elements);
      outputs.Set(static_cast<uint32_t>(i), host_array(e, program.tensors[static_cast<size_t>(program.outputs[i])], data, elements));
    }
    Napi::Array result = Napi::Array::New(e, 2);
    result.Set(0u, outputs);
    if (!executable->profile().empty()) {
      const auto& profile = executable->profile();
      auto times = Napi::Float64Array::New(e, profile.size());
      for (size_t i = 0; i < profile.size(); ++i) times[i] = static_cast<double>(profile[i]);
      result.Set(1u, times);
    }
    return result;
  };
  const Napi::Promise promise = core_->start(env, std::move(ticket));
  *busy_ = true;
  return promise;
}

}  // namespace dsi
