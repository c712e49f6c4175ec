// A persistent pool whose worker 0 is the thread that calls run().
#pragma once

#include <cstdint>
#include <memory>

namespace dsi {

// A reference to a callable fn(tile, worker); does not own it. Valid during the call it is passed to.
class TileFunction {
 public:
  template <class F>
  TileFunction(const F& fn)  // NOLINT: implicit by design
      : object_(&fn), call_([](const void* o, int64_t tile, int worker) { (*static_cast<const F*>(o))(tile, worker); }) {}
  void operator()(int64_t tile, int worker) const { call_(object_, tile, worker); }

 private:
  const void* object_;
  void (*call_)(const void*, int64_t, int);
};

// run() hands out tiles dynamically; which worker gets a tile must never influence a result's bits.
class ThreadPool {
 public:
  explicit ThreadPool(int threads);  // >= 1; threads - 1 are started
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const;
  // Calls fn(tile, worker) once for each tile in [0, tiles), 0 <= worker < size(); returns when all are done. Not re-entrant.
  void run(int64_t tiles, const TileFunction& fn);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dsi
