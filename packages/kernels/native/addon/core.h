// What the wrapped objects of one backend share: the step thread, and the way from it back to JavaScript.
#pragma once

#include <napi.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "executor/step_thread.h"

namespace dsi {

// One promise. Made and settled on the JavaScript thread; `work` runs on the step thread in between.
struct Ticket {
  explicit Ticket(Napi::Env env) : deferred(Napi::Promise::Deferred::New(env)) {}
  Napi::Promise::Deferred deferred;
  std::function<void()> work;
  std::function<Napi::Value(Napi::Env)> result;  // what the promise resolves to
  std::function<void()> settled;                 // runs first, whatever the outcome
  std::vector<Napi::ObjectReference> kept;       // JavaScript memory that `work` reads
  bool failed = false;
  std::string code, message;
};

class BackendCore {
 public:
  BackendCore(Napi::Env env, int threads);
  ~BackendCore();
  BackendCore(const BackendCore&) = delete;
  BackendCore& operator=(const BackendCore&) = delete;

  // On the JavaScript thread. The event loop stays alive until the promise has settled.
  Napi::Promise start(Napi::Env env, std::unique_ptr<Ticket> ticket);
  // Runs `job` behind everything posted, or at once when the thread has ended.
  void run_behind(std::function<void()> job);
  // Ends the step thread; promises in flight are settled. On the JavaScript thread; may be called again.
  void close();
  bool closed() const { return closed_; }
  int threads() { return step_.pool().size(); }
  StepThread& step() { return step_; }

 private:
  static void settle(napi_env env, napi_value callback, void* context, void* data);
  static void on_environment_exit(void* self);

  StepThread step_;
  napi_env env_;
  napi_threadsafe_function channel_ = nullptr;
  int pending_ = 0;
  bool closed_ = false;
};

// Error object with the code that src/native/errors.ts maps to a class.
Napi::Error coded_error(Napi::Env env, const std::string& code, const std::string& message);

}  // namespace dsi
