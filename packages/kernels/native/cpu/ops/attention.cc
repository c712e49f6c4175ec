#include "cpu/ops/attention.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace dsi {
namespace {

constexpr int64_t kTileQueries = 64;                // query vectors that share one read of the cache, where a row has fewer heads
constexpr int64_t kPartialFloats = int64_t{1} << 24;  // most floats of partial results before chunks are no longer spread

using Item = AttentionScratch::Item;

// A worker's buffers for tiles of up to `queries` vectors, laid into one allocation.
struct Buffers {
  Buffers(std::vector<float>& memory, int64_t queries, int64_t width, int64_t value_width) {
    const int64_t sizes[] = {queries * width, kSubTile * width, kSubTile * value_width, queries * kChunk, queries * value_width,
                             queries * value_width, 4 * queries};
    int64_t total = 16;
    for (const int64_t size : sizes) total += (size + 15) / 16 * 16;
    if (static_cast<int64_t>(memory.size()) < total) memory.resize(static_cast<size_t>(total));
    float* next = memory.data();
    next += (64 - (reinterpret_cast<uintptr_t>(next) & 63)) / 4 % 16;
    float** parts[] = {&q, &keys, &values, &scores, &chunk_out, &out, &m};
    for (int i = 0; i < 7; ++i) {
      *parts[i] = next;
      next += (sizes[i] + 15) / 16 * 16;
    }
    l = m + queries;
    M = l + queries;
    L = M + queries;
  }

  float *q, *keys, *values, *scores, *chunk_out, *out;
  float *m, *l, *M, *L;
};

struct Tile {
  const AttentionCall& call;
  const Item& item;
  Buffers& buffers;
  const RowKernels& kernels;
  std::vector<VisibleRange>& ranges;

  int64_t group() const { return call.heads / call.kv_heads; }
  int64_t width() const { return call.q_width + call.rest_width; }
  int queries() const { return static_cast<int>(item.rows * group()); }

  // q vectors of the tile, row-major over (row, head of the group), each [width].
  void gather_queries() const {
    float* out = buffers.q;
    for (int64_t r = 0; r < item.rows; ++r) {
      for (int64_t h = 0; h < group(); ++h) {
        const int64_t vector = (item.row + r) * call.heads + item.kv_head * group() + h;
        std::memcpy(out, call.q + vector * call.q_width, static_cast<size_t>(call.q_width) * sizeof(float));
        out += call.q_width;
        if (call.q_rest == nullptr) continue;
        std::memcpy(out, call.q_rest + vector * call.rest_width, static_cast<size_t>(call.rest_width) * sizeof(float));
        out += call.rest_width;
      }
    }
  }

  // Positions of the chunk that each query sees, relative to `start`; gives their union.
  VisibleRange visible(int64_t start) const {
    VisibleRange all{kChunk, 0};
    for (int64_t r = 0; r < item.rows; ++r) {
      const int64_t position = call.positions[item.row + r];
      const int64_t oldest = call.window > 0 ? std::max<int64_t>(0, position - call.window + 1) : 0;
      const int begin = static_cast<int>(std::clamp<int64_t>(oldest - start, 0, kChunk));
      const int end = static_cast<int>(std::clamp<int64_t>(position + 1 - start, 0, kChunk));
      for (int64_t h = 0; h < group(); ++h) ranges[static_cast<size_t>(r * group() + h)] = {begin, end};
      if (begin >= end) continue;
      all.begin = std::min(all.begin, begin);
      all.end = std::max(all.end, end);
    }
    return all;
  }

  // Addresses of the cache rows of positions start + [begin, end).
  void addresses(const uint8_t* base, int64_t stride, int64_t byte_offset, int64_t begin, int64_t end, const uint8_t** rows) const {
    const int32_t* table = call.block_tables + item.sequence * call.table_columns;
    for (int64_t p = begin; p < end; ++p) {
      const int64_t slot = table[p / call.block_size] * call.block_size + p % call.block_size;
      rows[p - begin] = base + slot * stride + byte_offset;
    }
  }

  // One chunk: highest scores in m, sums of weights in l, unnormalised outputs in chunk_out.
  void run_chunk(int64_t chunk) const {
    const int64_t start = chunk * kChunk;
    const VisibleRange all = visible(start);
    const int n = queries();
    const uint8_t* rows[kSubTile];
    const int first_tile = all.begin / kSubTile, last_tile = (all.end + kSubTile - 1) / kSubTile;
    for (int tile = first_tile; tile < last_tile; ++tile) {
      // Keys below the union are not read, as their blocks may be gone: the first visible one stands in for them, and is masked.
      const int begin = tile * kSubTile, from = std::max(begin, all.begin), to = std::min(begin + kSubTile, all.end);
      addresses(call.keys, call.key_stride, item.kv_head * width() * kv_element_bytes(call.key_dtype), start + from, start + to, rows + (from - begin));
      for (int j = 0; j < from - begin; ++j) rows[j] = rows[from - begin];
      kernels.keys_transpose(rows, to - begin, call.key_dtype, width(), buffers.keys);
      kernels.scores(buffers.q, n, width(), buffers.keys, call.scale, buffers.scores + begin);
    }
    kernels.chunk_softmax(buffers.scores, n, ranges.data(), buffers.m, buffers.l);
    std::memset(buffers.chunk_out, 0, static_cast<size_t>(n * call.value_width) * sizeof(float));
    shift_ranges(first_tile * kSubTile);
    for (int tile = first_tile; tile < last_tile; ++tile) {
      const int begin = tile * kSubTile, from = std::max(begin, all.begin), to = std::min(begin + kSubTile, all.end);
      addresses(call.values, call.value_stride, item.kv_head * call.value_width * kv_element_bytes(call.value_dtype), start + from, start + to, rows);
      kernels.values_load(rows, to - from, call.value_dtype, call.value_width, buffers.values + (from - begin) * call.value_width);
      kernels.weighted_values(buffers.scores + begin, n, ranges.data(), buffers.values, call.value_width, buffers.chunk_out);
      shift_ranges(kSubTile);
    }
  }

  void shift_ranges(int by) const {
    for (int i = 0; i < queries(); ++i) {
      ranges[static_cast<size_t>(i)].begin -= by;
      ranges[static_cast<size_t>(i)].end -= by;
    }
  }

  float* output(int64_t query) const {
    const int64_t row = item.row + query / group(), head = item.kv_head * group() + query % group();
    return call.out + (row * call.heads + head) * call.value_width;
  }

  void start() const {
    const int n = queries();
    std::fill(buffers.M, buffers.M + n, -std::numeric_limits<float>::infinity());
    std::fill(buffers.L, buffers.L + n, 0.0f);
    std::memset(buffers.out, 0, static_cast<size_t>(n * call.value_width) * sizeof(float));
  }

  // A query that sees nothing of the chunk keeps its state as it is. Only the others know the chunk.
  void merge(const float* m, const float* l, const float* o, const VisibleRange* seen) const {
    for (int i = 0; i < queries(); ++i) {
      if (seen[i].begin >= seen[i].end) continue;
      kernels.merge(m[i], l[i], o + i * call.value_width, buffers.M + i, buffers.L + i, buffers.out + i * call.value_width, call.value_width);
    }
  }

  void finish() const {
    for (int i = 0; i < queries(); ++i) kernels.finish(buffers.out + i * call.value_width, buffers.L[i], output(i), call.value_width);
  }
};

int64_t partial_floats(const AttentionCall& call, const Item& item) {
  return item.rows * (call.heads / call.kv_heads) * (call.value_width + 2);
}

void make_items(const AttentionCall& call, std::vector<Item>& items) {
  items.clear();
  const int64_t rows_per_tile = std::max<int64_t>(1, kTileQueries / (call.heads / call.kv_heads));
  for (int64_t s = 0; s < call.sequences; ++s) {
    const int64_t begin = call.seq_starts[s], end = call.seq_starts[s + 1];
    for (int64_t row = begin; row < end; row += rows_per_tile) {
      const int64_t rows = std::min(rows_per_tile, end - row);
      const int64_t lowest = call.positions[row], highest = call.positions[row + rows - 1];
      const int64_t oldest = call.window > 0 ? std::max<int64_t>(0, lowest - call.window + 1) : 0;
      for (int64_t g = 0; g < call.kv_heads; ++g) {
        items.push_back({s, row, rows, g, oldest / kChunk, highest / kChunk + 1, 0});
      }
    }
  }
  // The longest first, so that no thread is left alone with one at the end.
  std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
    return (a.last_chunk - a.first_chunk) * a.rows > (b.last_chunk - b.first_chunk) * b.rows;
  });
}

}  // namespace

void attention(const AttentionCall& call, AttentionScratch& scratch, ThreadPool& pool) {
  const RowKernels& kernels = row_kernels();
  make_items(call, scratch.items);
  if (scratch.items.empty()) return;
  const int64_t group = call.heads / call.kv_heads;
  int64_t most_queries = 0, chunks = 0, floats = 0, key_rows = 0;
  for (Item& item : scratch.items) {
    most_queries = std::max(most_queries, item.rows * group);
    chunks += item.last_chunk - item.first_chunk;
    item.partial = floats;
    floats += partial_floats(call, item) * (item.last_chunk - item.first_chunk);
    key_rows += call.positions[item.row + item.rows - 1] + 1;
  }
  if (scratch.workers.size() < static_cast<size_t>(pool.size())) scratch.workers.resize(static_cast<size_t>(pool.size()));

  // A tile of work run by one worker, with its buffers.
  const auto with_tile = [&](const Item& item, int worker, const auto& body) {
    Buffers buffers(scratch.workers[static_cast<size_t>(worker)], most_queries, call.q_width + call.rest_width, call.value_width);
    thread_local std::vector<VisibleRange> ranges;
    ranges.resize(static_cast<size_t>(most_queries));
    const Tile tile{call, item, buffers, kernels, ranges};
    body(tile);
  };
  const auto run_whole = [&](int64_t i, int worker) {
    with_tile(scratch.items[static_cast<size_t>(i)], worker, [&](const Tile& tile) {
      std::vector<VisibleRange>& ranges = tile.ranges;
      tile.gather_queries();
      tile.start();
      for (int64_t chunk = tile.item.first_chunk; chunk < tile.item.last_chunk; ++chunk) {
        tile.run_chunk(chunk);
        tile.visible(chunk * kChunk);
        tile.merge(tile.buffers.m, tile.buffers.l, tile.buffers.chunk_out, ranges.data());
      }
      tile.finish();
    });
  };

  const int64_t count = static_cast<int64_t>(scratch.items.size());
  // Below this many multiply-adds waking a thread costs more than it saves.
  const bool tiny = key_rows * group * (call.q_width + call.rest_width + call.value_width) < 32768;
  if (tiny) {
    for (int64_t i = 0; i < count; ++i) run_whole(i, 0);
    return;
  }
  if (count >= 3 * pool.size() || chunks == count || floats > kPartialFloats) {
    pool.run(count, run_whole);
    return;
  }

  // Few long tiles: every chunk is a piece of its own, and the same merge runs over the stored results.
  scratch.pieces.clear();
  for (const Item& item : scratch.items) {
    for (int64_t chunk = item.first_chunk; chunk < item.last_chunk; ++chunk) {
      Item piece = item;
      piece.partial += partial_floats(call, item) * (chunk - item.first_chunk);
      piece.first_chunk = chunk;
      piece.last_chunk = chunk + 1;
      scratch.pieces.push_back(piece);
    }
  }
  if (scratch.partials.size() < static_cast<size_t>(floats)) scratch.partials.resize(static_cast<size_t>(floats));
  pool.run(static_cast<int64_t>(scratch.pieces.size()), [&](int64_t i, int worker) {
    with_tile(scratch.pieces[static_cast<size_t>(i)], worker, [&](const Tile& tile) {
      tile.gather_queries();
      tile.run_chunk(tile.item.first_chunk);
      const size_t n = static_cast<size_t>(tile.queries());
      float* partial = scratch.partials.data() + tile.item.partial;
      std::memcpy(partial, tile.buffers.m, n * sizeof(float));
      std::memcpy(partial + n, tile.buffers.l, n * sizeof(float));
      std::memcpy(partial + 2 * n, tile.buffers.chunk_out, n * static_cast<size_t>(call.value_width) * sizeof(float));
    });
  });
  pool.run(count, [&](int64_t i, int worker) {
    with_tile(scratch.items[static_cast<size_t>(i)], worker, [&](const Tile& tile) {
      const int64_t n = tile.queries();
      tile.start();
      for (int64_t chunk = tile.item.first_chunk; chunk < tile.item.last_chunk; ++chunk) {
        const float* partial = scratch.partials.data() + tile.item.partial + partial_floats(call, tile.item) * (chunk - tile.item.first_chunk);
        tile.visible(chunk * kChunk);
        tile.merge(partial, partial + n, partial + 2 * n, tile.ranges.data());
      }
      tile.finish();
    });
  });
}

}  // namespace dsi
