// Kernels on one row (or one attention tile), in the instruction set chosen at run time. No row's result depends on any other row.
#pragma once

#include <cstdint>

namespace dsi {

enum class KvDType { kF32, kF16, kBF16 };

inline int64_t kv_element_bytes(KvDType dtype) { return dtype == KvDType::kF32 ? 4 : 2; }

// Keys of an attention sub-tile, positions of a chunk. A chunk's scores are computed sub-tile by sub-tile; chunks start at multiples of kChunk.
constexpr int kSubTile = 64;
constexpr int kChunk = 256;

// Visible keys of one query inside one chunk: positions chunk + [begin, end).
struct VisibleRange {
  int begin, end;
};

struct RowKernels {
  // y = x / sqrt(mean(x^2) + eps) * w; x, w, y [d]; y may be x.
  void (*rms_norm)(const float* x, const float* w, float* y, int64_t d, float eps);
  // total = x + r; y = rms_norm(total). total may be x or r.
  void (*add_rms_norm)(const float* x, const float* r, const float* w, float* total, float* y, int64_t d, float eps);
  // y = gate * sigmoid(gate) * up, n elements.
  void (*silu_mul)(const float* gate, const float* up, float* y, int64_t n);
  void (*add)(const float* a, const float* b, float* y, int64_t n);
  // y = x * sigmoid(gate), n elements.
  void (*sigmoid_mul)(const float* x, float gate, float* y, int64_t n);
  // Scores of one token's experts, [experts]: softmax, or element-wise sigmoid.
  void (*softmax)(const float* x, float* y, int64_t n);
  void (*sigmoid)(const float* x, float* y, int64_t n);
  // Rotates one head; cosine, sine [n]. y may be x.
  void (*rope_half)(const float* x, const float* cosine, const float* sine, float* y, int64_t offset, int64_t n, int64_t d);
  void (*rope_interleaved)(const float* x, const float* cosine, const float* sine, float* y, int64_t offset, int64_t n, int64_t d);
  // Converts n elements to the cache's dtype, to nearest even.
  void (*kv_store)(const float* x, void* y, int64_t n, KvDType dtype);

  // keys_t[c * kSubTile + j] = rows[j][c] for c in [0, width), j in [0, count); columns count..kSubTile-1 are zero.
  void (*keys_transpose)(const uint8_t* const* rows, int count, KvDType dtype, int64_t width, float* keys_t);
  // values[j * width + c] = rows[j][c].
  void (*values_load)(const uint8_t* const* rows, int count, KvDType dtype, int64_t width, float* values);
  // scores[i * kChunk + j] = scale * (one chain over ascending c of q[i * width + c] * keys_t[c][j]), j in [0, kSubTile).
  void (*scores)(const float* q, int queries, int64_t width, const float* keys_t, float scale, float* scores);
  // For each query: p = exp(s - max over its visible range), 0 outside the range; highest = that max, total = sum of p.
  // An empty range gives highest = -inf and total = 0.
  void (*chunk_softmax)(float* scores, int queries, const VisibleRange* ranges, float* highest, float* total);
  // out[i * width + c] += one chain over ascending j in its range, cut to this sub-tile, of p[i * kChunk + j] * values[j * width + c].
  // ranges are relative to the sub-tile's first key.
  void (*weighted_values)(const float* p, int queries, const VisibleRange* ranges, const float* values, int64_t width, float* out);
  // Folds one chunk (m, l, o[width]) into the running (M, L, O[width]).
  void (*merge)(float m, float l, const float* o, float* M, float* L, float* O, int64_t width);
  // y = O / L.
  void (*finish)(const float* O, float L, float* y, int64_t width);

  // Over n logits: whether all are finite, the largest and the lowest index of it.
  bool (*scan)(const float* x, int64_t n, float* highest, int64_t* index);
  // Sum of exp(x - shift) in f64; -inf adds nothing.
  double (*sum_exp)(const float* x, int64_t n, double shift);
  // Sums over the entries that are not -inf: their count, sum of x, sum of (x - centre)^2.
  void (*moments)(const float* x, int64_t n, double centre, int64_t* count, double* sum, double* squares);
  // Words of Philox4x32-10 for counters (first_block + i, c1, c2, c3), i in [0, blocks): words[4 * i + word]; blocks a multiple of 16.
  void (*philox)(uint32_t key0, uint32_t key1, uint32_t first_block, uint32_t c1, uint32_t c2, uint32_t c3, int blocks, uint32_t* words);
};

const RowKernels& row_kernels();  // of current_isa()

extern const RowKernels kRowKernelsGeneric;
#if defined(__x86_64__)
extern const RowKernels kRowKernelsAvx2;
extern const RowKernels kRowKernelsAvx512;
#endif

}  // namespace dsi
