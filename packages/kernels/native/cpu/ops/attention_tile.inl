// Attention on one tile of queries against one chunk of the cache. A query's scores, weights and outputs are chains of its own: neither the
// other queries of the tile nor the register tiling changes a bit.

inline Lanes load_kv(const uint8_t* row, int64_t c, KvDType dtype) {
  switch (dtype) {
    case KvDType::kF32:
      return load(reinterpret_cast<const float*>(row) + c);
    case KvDType::kF16:
      return load_f16(reinterpret_cast<const uint16_t*>(row) + c);
    default:
      return load_bf16(reinterpret_cast<const uint16_t*>(row) + c);
  }
}

inline Lanes load_kv_n(const uint8_t* row, int64_t c, int count, KvDType dtype) {
  if (dtype == KvDType::kF32) return load_n(reinterpret_cast<const float*>(row) + c, count);
  uint16_t piece[16] = {0};
  std::memcpy(piece, reinterpret_cast<const uint16_t*>(row) + c, static_cast<size_t>(count) * sizeof(uint16_t));
  return dtype == KvDType::kF16 ? load_f16(piece) : load_bf16(piece);
}

void keys_transpose(const uint8_t* const* rows, int count, KvDType dtype, int64_t width, float* keys_t) {
  for (int first_key = 0; first_key < kSubTile; first_key += 16) {
    const int keys = count - first_key < 0 ? 0 : (count - first_key < 16 ? count - first_key : 16);
    for (int64_t c = 0; c < width; c += 16) {
      const int columns = width - c < 16 ? static_cast<int>(width - c) : 16;
      Lanes block[16];
      for (int j = 0; j < 16; ++j) {
        if (j >= keys) {
          block[j] = zero();
        } else if (columns == 16) {
          block[j] = load_kv(rows[first_key + j], c, dtype);
        } else {
          block[j] = load_kv_n(rows[first_key + j], c, columns, dtype);
        }
      }
      transpose(block);
      for (int i = 0; i < columns; ++i) store(keys_t + (c + i) * kSubTile + first_key, block[i]);
    }
  }
}

void values_load(const uint8_t* const* rows, int count, KvDType dtype, int64_t width, float* values) {
  for (int j = 0; j < count; ++j) {
    float* out = values + j * width;
    int64_t c = 0;
    for (; c + 16 <= width; c += 16) store(out + c, load_kv(rows[j], c, dtype));
    if (c < width) {
      const int rest = static_cast<int>(width - c);
      store_n(out + c, load_kv_n(rows[j], c, rest, dtype), rest);
    }
  }
}

template <int Q, int V>
inline void scores_block(const float* q, int64_t width, const float* keys_t, Lanes scale, float* out) {
  Lanes acc[Q][V];
  for (int i = 0; i < Q; ++i) {
    for (int v = 0; v < V; ++v) acc[i][v] = zero();
  }
  for (int64_t c = 0; c < width; ++c) {
    Lanes k[V];
    for (int v = 0; v < V; ++v) k[v] = load(keys_t + c * kSubTile + 16 * v);
    for (int i = 0; i < Q; ++i) {
      const Lanes x = set1(q[i * width + c]);
      for (int v = 0; v < V; ++v) acc[i][v] = fma(x, k[v], acc[i][v]);
    }
  }
  for (int i = 0; i < Q; ++i) {
    for (int v = 0; v < V; ++v) store(out + i * kChunk + 16 * v, mul(acc[i][v], scale));
  }
}

void scores(const float* q, int queries, int64_t width, const float* keys_t, float scale, float* out) {
  const Lanes s = set1(scale);
  for (int first_key = 0; first_key < kSubTile; first_key += 16 * kScoreVectors) {
    int i = 0;
    for (; i + kScoreQueries <= queries; i += kScoreQueries) {
      scores_block<kScoreQueries, kScoreVectors>(q + i * width, width, keys_t + first_key, s, out + i * kChunk + first_key);
    }
    for (; i < queries; ++i) {
      scores_block<1, kScoreVectors>(q + i * width, width, keys_t + first_key, s, out + i * kChunk + first_key);
    }
  }
}

void chunk_softmax(float* s, int queries, const VisibleRange* ranges, float* highest, float* total) {
  for (int i = 0; i < queries; ++i) {
    float* row = s + i * kChunk;
    const VisibleRange range = ranges[i];
    if (range.begin >= range.end) {
      highest[i] = -kInfinity;
      total[i] = 0.0f;
      continue;
    }
    // Whole vectors around the range; what lies in them but outside the range is -inf.
    const int first_vector = range.begin / 16 * 16, last_vector = (range.end + 15) / 16 * 16;
    for (int j = first_vector; j < range.begin; ++j) row[j] = -kInfinity;
    for (int j = range.end; j < last_vector; ++j) row[j] = -kInfinity;
    Lanes most = set1(-kInfinity);
    for (int j = first_vector; j < last_vector; j += 16) most = max(load(row + j), most);
    float m[16];
    store(m, most);
    float peak = m[0];
    for (int j = 1; j < 16; ++j) peak = m[j] > peak ? m[j] : peak;
    Lanes l = zero();
    const Lanes shift = set1(peak);
    for (int j = first_vector; j < last_vector; j += 16) {
      const Lanes p = exp_lanes(sub(load(row + j), shift));
      store(row + j, p);
      l = add(l, p);
    }
    highest[i] = peak;
    total[i] = sum(l);
  }
}

// Q queries over keys [begin, end) and V vectors of columns, the last one `tail` wide (16 = whole).
template <int Q, int V>
inline void values_block(const float* p, int begin, int end, const float* values, int64_t width, float* out, int tail) {
  Lanes acc[Q][V];
  for (int i = 0; i < Q; ++i) {
    for (int v = 0; v < V; ++v) acc[i][v] = load_piece(out + i * width + 16 * v, v == V - 1 ? tail : 16);
  }
  for (int j = begin; j < end; ++j) {
    Lanes x[V];
    for (int v = 0; v < V; ++v) x[v] = load_piece(values + j * width + 16 * v, v == V - 1 ? tail : 16);
    for (int i = 0; i < Q; ++i) {
      const Lanes weight = set1(p[i * kChunk + j]);
      for (int v = 0; v < V; ++v) acc[i][v] = fma(weight, x[v], acc[i][v]);
    }
  }
  for (int i = 0; i < Q; ++i) {
    for (int v = 0; v < V; ++v) store_piece(out + i * width + 16 * v, acc[i][v], v == V - 1 ? tail : 16);
  }
}

template <int Q>
inline void values_rows(const float* p, int begin, int end, const float* values, int64_t width, float* out) {
  if (begin >= end) return;
  int64_t c = 0;
  for (; c + 16 * kScoreVectors <= width; c += 16 * kScoreVectors) {
    values_block<Q, kScoreVectors>(p, begin, end, values + c, width, out + c, 16);
  }
  for (; c < width; c += 16) {
    values_block<Q, 1>(p, begin, end, values + c, width, out + c, width - c < 16 ? static_cast<int>(width - c) : 16);
  }
}

void weighted_values(const float* p, int queries, const VisibleRange* ranges, const float* values, int64_t width, float* out) {
  const auto clip = [](int j) { return j < 0 ? 0 : (j > kSubTile ? kSubTile : j); };
  int i = 0;
  for (; i + kScoreQueries <= queries; i += kScoreQueries) {
    // Together where all of them see the keys; what one sees before or after that by itself, in the same order.
    int begin = 0, end = kSubTile;
    for (int q = i; q < i + kScoreQueries; ++q) {
      const int b = clip(ranges[q].begin), e = clip(ranges[q].end);
      begin = b > begin ? b : begin;
      end = e < end ? e : end;
    }
    if (end < begin) end = begin;
    for (int q = i; q < i + kScoreQueries; ++q) {
      const int b = clip(ranges[q].begin), e = clip(ranges[q].end);
      values_rows<1>(p + q * kChunk, b, begin < e ? begin : e, values, width, out + q * width);
    }
    values_rows<kScoreQueries>(p + i * kChunk, begin, end, values, width, out + i * width);
    for (int q = i; q < i + kScoreQueries; ++q) {
      const int b = clip(ranges[q].begin), e = clip(ranges[q].end);
      const int from = end > b ? end : b;
      values_rows<1>(p + q * kChunk, from > begin ? from : begin, e, values, width, out + q * width);
    }
  }
  for (; i < queries; ++i) {
    values_rows<1>(p + i * kChunk, clip(ranges[i].begin), clip(ranges[i].end), values, width, out + i * width);
  }
}

void merge(float m, float l, const float* o, float* M, float* L, float* O, int64_t width) {
  const float highest = m > *M ? m : *M;
  const float old_factor = exp_scalar(*M - highest), new_factor = exp_scalar(m - highest);
  *L = *L * old_factor + l * new_factor;
  *M = highest;
  const Lanes a = set1(old_factor), b = set1(new_factor);
  for_pieces(width, [&](int64_t c, int count) {
    store_piece(O + c, fma(load_piece(o + c, count), b, mul(load_piece(O + c, count), a)), count);
  });
}

void finish(const float* O, float L, float* y, int64_t width) {
  const Lanes divisor = set1(L);
  for_pieces(width, [&](int64_t c, int count) { store_piece(y + c, div(load_piece(O + c, count), divisor), count); });
}
