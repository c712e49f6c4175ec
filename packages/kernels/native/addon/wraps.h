// The JavaScript classes: NativeBackend, NativeWeights, NativeKv, NativeExecutable. Each owns native memory until dispose() or its finalizer.
#pragma once

#include <napi.h>

#include <memory>
#include <string>

#include "addon/core.h"
#include "executor/executable.h"
#include "executor/load.h"
#include "executor/storage.h"

namespace dsi {

// Bytes reported to the garbage collector for one object.
class ReportedBytes {
 public:
  void set(Napi::Env env, int64_t bytes) {
    Napi::MemoryManagement::AdjustExternalMemory(env, bytes - bytes_);
    bytes_ = bytes;
  }
  int64_t get() const { return bytes_; }

 private:
  int64_t bytes_ = 0;
};

// new NativeBackend(threads, isa or '')
class NativeBackend : public Napi::ObjectWrap<NativeBackend> {
 public:
  static Napi::Function define(Napi::Env env);
  explicit NativeBackend(const Napi::CallbackInfo& info);
  ~NativeBackend() override;
  std::shared_ptr<BackendCore> core(Napi::Env env) const;  // throws when disposed

 private:
  Napi::Value isa(const Napi::CallbackInfo& info);
  Napi::Value threads(const Napi::CallbackInfo& info);
  void dispose(const Napi::CallbackInfo& info);
  void close();
  std::shared_ptr<BackendCore> core_;
  bool counted_ = false;
};

// new NativeWeights(backend, fast)
class NativeWeights : public Napi::ObjectWrap<NativeWeights> {
 public:
  static Napi::Function define(Napi::Env env);
  explicit NativeWeights(const Napi::CallbackInfo& info);
  ~NativeWeights() override;
  const std::shared_ptr<WeightSet>& set() const { return set_; }

 private:
  Napi::Value pack(const Napi::CallbackInfo& info);  // promise of the bytes now resident
  void end_load(const Napi::CallbackInfo& info);     // unmaps the files
  void dispose(const Napi::CallbackInfo& info);
  void release();
  std::shared_ptr<BackendCore> core_;
  std::shared_ptr<WeightSet> set_;
  std::shared_ptr<FileCache> files_;
  ReportedBytes bytes_;
};

// new NativeKv(backend, names, widths Int32Array, dtypes Int32Array, blocks, blockSize)
class NativeKv : public Napi::ObjectWrap<NativeKv> {
 public:
  static Napi::Function define(Napi::Env env);
  explicit NativeKv(const Napi::CallbackInfo& info);
  ~NativeKv() override;
  const std::shared_ptr<KvStorage>& storage() const { return storage_; }

 private:
  void dispose(const Napi::CallbackInfo& info);
  void release();
  std::shared_ptr<BackendCore> core_;
  std::shared_ptr<KvStorage> storage_;
  ReportedBytes bytes_;
};

// new NativeExecutable(backend, lowered, weights, kv)
class NativeExecutable : public Napi::ObjectWrap<NativeExecutable> {
 public:
  static Napi::Function define(Napi::Env env);
  explicit NativeExecutable(const Napi::CallbackInfo& info);
  ~NativeExecutable() override;

 private:
  // launch(dims Float64Array(4), inputs, blockCopies Int32Array or undefined, profile) -> promise of [outputs, profile or undefined]
  Napi::Value launch(const Napi::CallbackInfo& info);
  void dispose(const Napi::CallbackInfo& info);
  std::shared_ptr<BackendCore> core_;
  std::shared_ptr<Executable> executable_;
  std::shared_ptr<bool> busy_ = std::make_shared<bool>(false);
  ReportedBytes bytes_;
};

}  // namespace dsi
