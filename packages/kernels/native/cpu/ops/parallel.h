// How ops over rows are cut into tiles.
#pragma once

#include <algorithm>
#include <cstdint>

#include "dsi/thread_pool.h"

namespace dsi {

// Elements of work below which a second thread costs more than it brings (a wake-up is some microseconds, an element a fraction of a nanosecond).
constexpr int64_t kInlineElements = 32768;

// Calls body(begin, end, worker) over [0, rows), each row once.
template <class Body>
void for_rows(ThreadPool& pool, int64_t rows, int64_t elements_per_row, const Body& body) {
  if (rows <= 0) return;
  if (pool.size() == 1 || rows == 1 || rows * elements_per_row < kInlineElements) {
    body(int64_t{0}, rows, 0);
    return;
  }
  const int64_t tiles = std::min<int64_t>(rows, 4 * pool.size());
  pool.run(tiles, [&](int64_t tile, int worker) { body(tile * rows / tiles, (tile + 1) * rows / tiles, worker); });
}

}  // namespace dsi
