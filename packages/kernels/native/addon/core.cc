#include "addon/core.h"

#include <exception>
#include <new>

#include "executor/errors.h"

namespace dsi {

Napi::Error coded_error(Napi::Env env, const std::string& code, const std::string& message) {
  Napi::Error error = Napi::Error::New(env, message);
  error.Value().Set("code", Napi::String::New(env, code));
  return error;
}

BackendCore::BackendCore(Napi::Env env, int threads) : step_(threads), env_(env) {
  const Napi::String name = Napi::String::New(env, "dsi step");
  if (napi_create_threadsafe_function(env, nullptr, nullptr, name, 0, 1, nullptr, nullptr, this, settle, &channel_) != napi_ok) {
    throw Napi::Error::New(env, "the native step thread cannot be connected to the event loop");
  }
  napi_unref_threadsafe_function(env, channel_);
  // Hooks run in reverse order, so this one runs before the channel is torn down: no thread can use it afterwards.
  napi_add_env_cleanup_hook(env, on_environment_exit, this);
}

BackendCore::~BackendCore() { close(); }

void BackendCore::on_environment_exit(void* self) {
  auto* core = static_cast<BackendCore*>(self);
  if (core->closed_) return;
  core->closed_ = true;
  core->step_.shutdown();
}

void BackendCore::close() {
  if (closed_) return;
  closed_ = true;
  step_.shutdown();
  napi_remove_env_cleanup_hook(env_, on_environment_exit, this);
  // Settles what is still queued before it goes.
  napi_release_threadsafe_function(channel_, napi_tsfn_release);
}

Napi::Promise BackendCore::start(Napi::Env env, std::unique_ptr<Ticket> ticket) {
  const Napi::Promise promise = ticket->deferred.Promise();
  if (closed_) throw coded_error(env, "DSI_DISPOSED", "the Backend");
  if (pending_++ == 0) napi_ref_threadsafe_function(env, channel_);
  Ticket* raw = ticket.release();
  const bool posted = step_.post([this, raw] {
    try {
      raw->work();
    } catch (const CodedError& e) {
      raw->failed = true;
      raw->code = e.code();
      raw->message = e.what();
    } catch (const std::bad_alloc&) {
      raw->failed = true;
      raw->code = "DSI_LAUNCH";
      raw->message = "there is not enough memory";
    } catch (const std::exception& e) {
      raw->failed = true;
      raw->code = "DSI_LAUNCH";
      raw->message = e.what();
    }
    napi_call_threadsafe_function(channel_, raw, napi_tsfn_blocking);
  });
  if (!posted) {
    delete raw;
    throw coded_error(env, "DSI_DISPOSED", "the Backend");
  }
  return promise;
}

void BackendCore::settle(napi_env env, napi_value, void* context, void* data) {
  std::unique_ptr<Ticket> ticket(static_cast<Ticket*>(data));
  if (env == nullptr) {
    // The environment is gone, and its references with it.
    for (auto& reference : ticket->kept) reference.SuppressDestruct();
    return;
  }
  auto* core = static_cast<BackendCore*>(context);
  if (ticket->settled) ticket->settled();
  try {
    const Napi::Env e(env);
    const Napi::HandleScope scope(e);
    if (--core->pending_ == 0 && !core->closed_) napi_unref_threadsafe_function(env, core->channel_);
    if (ticket->failed) {
      ticket->deferred.Reject(coded_error(e, ticket->code, ticket->message).Value());
      return;
    }
    try {
      ticket->deferred.Resolve(ticket->result(e));
    } catch (const Napi::Error& error) {
      ticket->deferred.Reject(error.Value());
    }
  } catch (const Napi::Error&) {
    // The environment is ending (process.exit, worker.terminate): every call into it fails, and nobody waits for the promise any more.
  }
}

void BackendCore::run_behind(std::function<void()> job) {
  if (!step_.post(job)) job();
}

}  // namespace dsi
