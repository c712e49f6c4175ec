// Paged attention over a step's rows, in parallel over (row tiles x KV heads) and, for long contexts of few rows, over chunks.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/ops/row_kernels.h"
#include "dsi/thread_pool.h"

namespace dsi {

// One call. T tokens, S sequences, H query heads, G KV heads. All index data has been checked: see check_attention.
struct AttentionCall {
  const float* q;           // [T, H, q_width]
  const float* q_rest;      // [T, H, rest_width]: second part of each query (MLA's rope part), or null
  int64_t q_width, rest_width;
  int64_t heads, kv_heads;
  const uint8_t* keys;      // slot rows of key_stride bytes; head g's key at element g * (q_width + rest_width)
  int64_t key_stride;
  KvDType key_dtype;
  const uint8_t* values;    // head g's value at element g * value_width
  int64_t value_stride, value_width;
  KvDType value_dtype;
  const int32_t* positions;     // [T]
  const int32_t* seq_starts;    // [S+1]
  const int32_t* block_tables;  // [S, table_columns]
  int64_t sequences, table_columns, block_size;
  float scale;
  int64_t window;  // 0 = none
  float* out;      // [T, H, value_width]
};

// Memory that calls reuse. Grows to the largest call and stays. Owned by one executor: one call at a time.
class AttentionScratch {
 public:
  struct Item {
    int64_t sequence, row, rows, kv_head;  // rows [row, row + rows) of the step
    int64_t first_chunk, last_chunk;       // [first, last)
    int64_t partial;                       // offset of its chunks' partial results, in floats
  };
  std::vector<Item> items;
  std::vector<Item> pieces;
  std::vector<float> partials;
  std::vector<std::vector<float>> workers;
};

void attention(const AttentionCall& call, AttentionScratch& scratch, ThreadPool& pool);

}  // namespace dsi
