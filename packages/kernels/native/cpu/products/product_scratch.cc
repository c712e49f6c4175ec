#include "product_scratch.h"

#include <algorithm>

namespace dsi {
namespace products {
namespace {

constexpr int64_t kTileBytes = 96 * 1024;  // of weights a tile when memory-bound: long enough to stream
constexpr int64_t kTilesAThread = 6;

int64_t padded(int64_t k, int64_t block) { return (k + block - 1) / block * block; }

}  // namespace

ActivationView quantize(ActivationKind kind, const float* x, int64_t x_stride, int64_t m, int64_t k, ActivationBuffers& buffers,
                        const KernelTable& kernels, ThreadPool& pool) {
  ActivationView v{};
  v.f32 = x;
  v.f32_row = x_stride;
  if (kind == ActivationKind::kF32 || m == 0) return v;
  const int i = static_cast<int>(kind);
  const size_t rows = static_cast<size_t>(m);
  uint8_t* q = nullptr;
  float *scales = nullptr, *scaled_sums = nullptr;
  int32_t* sums = nullptr;
  if (kind == ActivationKind::kBF16) {
    v.q_row = padded(2 * k, 64) + 64;  // not all rows on the same cache set
    q = buffers.q[i].reserve(rows * static_cast<size_t>(v.q_row));
  } else {
    const size_t entries = rows * static_cast<size_t>(padded(k, kDepth) / kDepth);
    v.q_row = kDepth;
    v.q_chunk = m * v.q_row;
    v.scale_row = kind == ActivationKind::kSuper ? 1 : 8;
    v.scale_chunk = m * v.scale_row;
    v.sums_row = kind == ActivationKind::kSuper ? kPairWords : 8;
    v.sums_chunk = m * v.sums_row;
    q = buffers.q[i].reserve(entries * kDepth);
    scales = buffers.scales[i].array<float>(entries * static_cast<size_t>(v.scale_row));
    scaled_sums = buffers.scaled_sums[i].array<float>(entries * static_cast<size_t>(v.scale_row));
    sums = buffers.sums[i].array<int32_t>(entries * static_cast<size_t>(v.sums_row));
  }
  v.q = q;
  v.scales = scales;
  v.scaled_sums = scaled_sums;
  v.sums = sums;
  const auto row = [&](int64_t r) {
    kernels.quantize_row(kind, x + r * x_stride, k,
                         {q + r * v.q_row, scales + r * v.scale_row, scaled_sums + r * v.scale_row, sums + r * v.sums_row, v.q_chunk,
                          v.scale_chunk, v.sums_chunk});
  };
  if (m * k < 32 * 1024) {  // cheaper than waking the pool
    for (int64_t r = 0; r < m; ++r) row(r);
  } else {
    const int64_t chunk = std::max<int64_t>(1, 16 * 1024 / k);
    pool.run((m + chunk - 1) / chunk, [&](int64_t tile, int) {
      for (int64_t r = tile * chunk; r < std::min(m, (tile + 1) * chunk); ++r) row(r);
    });
  }
  return v;
}

ProductFn product_of(const PackedMatrix& w, const KernelTable& kernels) {
  switch (w.kind(kernels)) {
    case ActivationKind::kF32: return kernels.product_f32;
    case ActivationKind::kBF16: return kernels.product_bf16;
    default: return kernels.product_int8[static_cast<int>(w.format())];
  }
}

}  // namespace products

using namespace products;

void ProductScratch::run_jobs(ThreadPool& pool) {
  const int64_t wanted = kTilesAThread * pool.size();
  int64_t all_groups = 0;
  for (const Job& j : jobs) all_groups += (j.w.rows + kLanes - 1) / kLanes;
  int64_t tiles = 0;
  for (Job& j : jobs) {
    const int64_t groups = (j.w.rows + kLanes - 1) / kLanes;
    j.first_tile = tiles;
    if (j.rows == 0) continue;
    if (j.rows <= kSkinnyRows) {
      const int64_t group_bytes = static_cast<int64_t>(
          j.w.layout == Layout::kRows ? j.w.row_bytes * static_cast<size_t>(kLanes) : j.w.row_group_bytes);
      int64_t n = std::max<int64_t>(1, kTileBytes / std::max<int64_t>(1, group_bytes));
      n = std::min(n, std::max<int64_t>(1, all_groups / wanted));
      j.groups_a_tile = (n + 1) / 2 * 2;
      j.row_tiles = 1;
      j.rows_a_tile = j.rows;
    } else {
      j.groups_a_tile = kTileGroups;
      const int64_t group_tiles = (all_groups + kTileGroups - 1) / kTileGroups;
      int64_t split = (j.rows + kTileRows - 1) / kTileRows;
      while (group_tiles * split < wanted && j.rows / (split + 1) >= 24) ++split;
      j.rows_a_tile = (j.rows + split - 1) / split;
      j.rows_a_tile = std::min<int64_t>(kTileRows, (j.rows_a_tile + 11) / 12 * 12);
      j.row_tiles = (j.rows + j.rows_a_tile - 1) / j.rows_a_tile;
    }
    tiles += (groups + j.groups_a_tile - 1) / j.groups_a_tile * j.row_tiles;
  }
  if (tiles == 0) return;
  TileScratch* scratch = reinterpret_cast<TileScratch*>(tiles_.reserve(sizeof(TileScratch) * static_cast<size_t>(pool.size())));
  pool.run(tiles, [&](int64_t tile, int worker) {
    const auto next = std::upper_bound(jobs.begin(), jobs.end(), tile, [](int64_t t, const Job& j) { return t < j.first_tile; });
    const Job& j = *(next - 1);
    const int64_t local = tile - j.first_tile;
    const int64_t group0 = local / j.row_tiles * j.groups_a_tile, row0 = local % j.row_tiles * j.rows_a_tile;
    const int64_t groups = (j.w.rows + kLanes - 1) / kLanes;
    const ProductTile t{group0, std::min(group0 + j.groups_a_tile, groups), row0, std::min(j.rows_a_tile, j.rows - row0),
                        j.y + row0 * j.y_stride, j.y_stride, j.bias};
    j.product(j.w, j.x, t, scratch[worker]);
  });
}

std::unique_ptr<ProductScratch, void (*)(ProductScratch*)> make_product_scratch() {
  return {new ProductScratch(), [](ProductScratch* s) { delete s; }};
}

}  // namespace dsi
