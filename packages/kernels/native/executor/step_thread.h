// The thread that runs launches and packing, one job after the other: worker 0 of the pool.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "dsi/thread_pool.h"

namespace dsi {

class StepThread {
 public:
  explicit StepThread(int threads);
  ~StepThread();  // shuts down

  // Runs the job behind all earlier ones; false after shutdown, when the job is dropped. A job must not throw.
  bool post(std::function<void()> job);
  // Lets the job in progress end at its next op, runs the waiting ones (which see stopping()), and ends the thread.
  void shutdown();
  const std::atomic<bool>& stopping() const { return stopping_; }
  ThreadPool& pool() { return pool_; }

 private:
  void work();

  ThreadPool pool_;
  std::mutex mutex_;
  std::condition_variable condition_;
  std::deque<std::function<void()>> jobs_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace dsi
