#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "dsi/thread_pool.h"
#include "test/ops/harness.h"

namespace dsi {

TEST("pool runs every tile once, for many jobs of many sizes") {
  ThreadPool pool(4);
  for (int job = 0; job < 3000; ++job) {
    const int64_t tiles = job % 37;
    std::unique_ptr<std::atomic<int>[]> runs(new std::atomic<int>[static_cast<size_t>(tiles) + 1]());
    pool.run(tiles, [&](int64_t tile, int worker) {
      CHECK(worker >= 0 && worker < 4);
      ++runs[static_cast<size_t>(tile)];
    });
    for (int64_t t = 0; t < tiles; ++t) CHECK(runs[static_cast<size_t>(t)] == 1);
  }
}

TEST("pool wakes sleeping workers and waits for slow ones") {
  ThreadPool pool(3);
  for (int job = 0; job < 5; ++job) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // beyond the spin
    std::atomic<int> done{0};
    pool.run(6, [&](int64_t tile, int) {
      if (tile == 5) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      ++done;
    });
    CHECK(done == 6);
  }
}

TEST("pool hands an exception of a tile to its caller and stays usable") {
  ThreadPool pool(3);
  CHECK_THROWS(std::runtime_error, pool.run(50, [](int64_t tile, int) {
    if (tile == 20) throw std::runtime_error("tile");
  }));
  std::atomic<int> done{0};
  pool.run(50, [&](int64_t, int) { ++done; });
  CHECK(done == 50);
}

TEST("pools start and stop, also without work") {
  for (int threads = 1; threads <= 5; ++threads) ThreadPool pool(threads);
  CHECK_THROWS(std::invalid_argument, ThreadPool(0));
}

}  // namespace dsi
