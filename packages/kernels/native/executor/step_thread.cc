#include "executor/step_thread.h"

#include <utility>

namespace dsi {

StepThread::StepThread(int threads) : pool_(threads), thread_([this] { work(); }) {}

StepThread::~StepThread() { shutdown(); }

bool StepThread::post(std::function<void()> job) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (stopping_.load()) return false;
    jobs_.push_back(std::move(job));
  }
  condition_.notify_one();
  return true;
}

void StepThread::shutdown() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_.store(true);
  }
  condition_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void StepThread::work() {
  for (;;) {
    std::function<void()> job;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      condition_.wait(lock, [this] { return !jobs_.empty() || stopping_.load(); });
      if (jobs_.empty()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job();
  }
}

}  // namespace dsi
