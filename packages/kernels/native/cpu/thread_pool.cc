#include "dsi/thread_pool.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace dsi {
namespace {

constexpr auto kSpin = std::chrono::microseconds(20);

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// A word that threads sleep on: a futex where there is one, a condition variable elsewhere.
class WaitWord {
 public:
  uint32_t load() const { return word_.load(std::memory_order_seq_cst); }

  // Sleeps unless the word has left `seen`; may return early.
  void wait(uint32_t seen) {
#if defined(__linux__)
    syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word_), FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
#else
    std::unique_lock<std::mutex> lock(mutex_);
    condition_.wait(lock, [&] { return word_.load(std::memory_order_seq_cst) != seen; });
#endif
  }

  void bump_and_wake(int count) {
#if defined(__linux__)
    word_.fetch_add(1, std::memory_order_seq_cst);
    syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word_), FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
#else
    (void)count;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      word_.fetch_add(1, std::memory_order_seq_cst);
    }
    condition_.notify_all();
#endif
  }

 private:
  std::atomic<uint32_t> word_{0};
#if !defined(__linux__)
  std::mutex mutex_;
  std::condition_variable condition_;
#endif
};

// True as soon as `ready` is; false after spinning for kSpin.
template <class Ready>
bool spin_until(const Ready& ready) {
  const auto end = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < 32; ++i) {
      if (ready()) return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() < end);
  return ready();
}

}  // namespace

// A job is published by storing `ticket` = (epoch << 32 | tiles left). A tile is claimed by decrementing it with compare-and-swap, so whoever
// holds a tile knows that its job cannot end, and its fields cannot change, until the tile is counted in `finished`.
struct ThreadPool::Impl {
  explicit Impl(int threads) : size(threads) {
    workers.reserve(static_cast<size_t>(threads - 1));
    try {
      for (int i = 1; i < threads; ++i) workers.emplace_back([this, i] { work(i); });
    } catch (...) {
      stop();
      throw;
    }
  }

  ~Impl() { stop(); }

  void stop() {
    stopping.store(true, std::memory_order_seq_cst);
    wake.bump_and_wake(std::numeric_limits<int>::max());
    for (auto& worker : workers) worker.join();
    workers.clear();
  }

  static uint32_t left(uint64_t value) { return static_cast<uint32_t>(value); }

  // Runs tiles of whatever job is published until none is left to claim.
  void drain(int worker) {
    uint64_t seen = ticket.load(std::memory_order_acquire);
    while (left(seen) > 0) {
      if (!ticket.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel, std::memory_order_acquire)) continue;
      const uint32_t total = tiles;
      try {
        (*function)(static_cast<int64_t>(total - left(seen)), worker);
      } catch (...) {
        std::lock_guard<std::mutex> lock(error_mutex);
        if (!error) error = std::current_exception();
      }
      if (finished.fetch_add(1, std::memory_order_seq_cst) + 1 == total && caller_sleeps.load(std::memory_order_seq_cst)) {
        done.bump_and_wake(1);
      }
      seen = ticket.load(std::memory_order_acquire);
    }
  }

  void work(int worker) {
    const auto has_work = [this] {
      return left(ticket.load(std::memory_order_seq_cst)) > 0 || stopping.load(std::memory_order_seq_cst);
    };
    while (!stopping.load(std::memory_order_seq_cst)) {
      if (!spin_until(has_work)) {
        sleepers.fetch_add(1, std::memory_order_seq_cst);
        const uint32_t seen = wake.load();
        if (!has_work()) wake.wait(seen);
        sleepers.fetch_sub(1, std::memory_order_seq_cst);
      }
      drain(worker);
    }
  }

  void run(uint32_t count, const TileFunction& fn) {
    function = &fn;
    tiles = count;
    finished.store(0, std::memory_order_relaxed);
    const uint64_t epoch = (ticket.load(std::memory_order_relaxed) >> 32) + 1;
    ticket.store(epoch << 32 | count, std::memory_order_seq_cst);
    const int sleeping = sleepers.load(std::memory_order_seq_cst);
    if (sleeping > 0) wake.bump_and_wake(sleeping < static_cast<int>(count) ? sleeping : static_cast<int>(count));
    drain(0);
    const auto all_done = [&] { return finished.load(std::memory_order_seq_cst) == count; };
    while (!spin_until(all_done)) {
      caller_sleeps.store(true, std::memory_order_seq_cst);
      const uint32_t seen = done.load();
      if (!all_done()) done.wait(seen);
      caller_sleeps.store(false, std::memory_order_seq_cst);
    }
    if (error) {
      const std::exception_ptr thrown = error;
      error = nullptr;
      std::rethrow_exception(thrown);
    }
  }

  const int size;
  std::vector<std::thread> workers;
  const TileFunction* function = nullptr;
  uint32_t tiles = 0;
  std::exception_ptr error;
  std::mutex error_mutex;
  alignas(64) std::atomic<uint64_t> ticket{0};
  alignas(64) std::atomic<uint32_t> finished{0};
  alignas(64) WaitWord wake;
  std::atomic<int> sleepers{0};
  alignas(64) WaitWord done;
  std::atomic<bool> caller_sleeps{false};
  std::atomic<bool> stopping{false};
};

ThreadPool::ThreadPool(int threads) {
  if (threads < 1) throw std::invalid_argument("a thread pool needs at least one thread");
  impl_ = std::make_unique<Impl>(threads);
}

ThreadPool::~ThreadPool() = default;

int ThreadPool::size() const { return impl_->size; }

void ThreadPool::run(int64_t tiles, const TileFunction& fn) {
  if (tiles <= 0) return;
  if (tiles == 1 || impl_->size == 1) {
    for (int64_t tile = 0; tile < tiles; ++tile) fn(tile, 0);
    return;
  }
  if (tiles > std::numeric_limits<uint32_t>::max()) throw std::invalid_argument("too many tiles in one run");
  impl_->run(static_cast<uint32_t>(tiles), fn);
}

}  // namespace dsi
