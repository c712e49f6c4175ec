// Norms, activations, RoPE and conversions over Lanes.

constexpr float kInfinity = __builtin_inff();

// e^x within 2 ulp: x = n ln2 + r, |r| <= ln2 / 2, Taylor to r^7 (remainder below 6e-9). Subnormal and infinite results come out by
// themselves, as 2^n is applied in two factors. NaN stays NaN.
inline Lanes exp_lanes(Lanes x) {
  const Lanes magic = set1(12582912.0f);  // 1.5 * 2^23: adding it rounds to a whole number
  x = min(set1(89.0f), max(set1(-104.0f), x));
  const Lanes n = sub(add(mul(x, set1(1.44269504f)), magic), magic);
  Lanes r = fma(n, set1(-0.693359375f), x);
  r = fma(n, set1(2.12194440e-4f), r);
  Lanes p = set1(1.0f / 5040.0f);
  p = fma(p, r, set1(1.0f / 720.0f));
  p = fma(p, r, set1(1.0f / 120.0f));
  p = fma(p, r, set1(1.0f / 24.0f));
  p = fma(p, r, set1(1.0f / 6.0f));
  p = fma(p, r, set1(0.5f));
  p = fma(p, r, set1(1.0f));
  p = fma(p, r, set1(1.0f));
  const Lanes half = sub(add(mul(n, set1(0.5f)), magic), magic);
  return mul(mul(p, power_of_two(half)), power_of_two(sub(n, half)));
}

inline float exp_scalar(float x) {
  float y[16];
  store(y, exp_lanes(set1(x)));
  return y[0];
}

inline Lanes sigmoid_lanes(Lanes x) { return div(set1(1.0f), add(set1(1.0f), exp_lanes(sub(zero(), x)))); }

// Calls body(offset, count) for consecutive pieces of at most 16.
template <class Body>
inline void for_pieces(int64_t n, const Body& body) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) body(i, 16);
  if (i < n) body(i, static_cast<int>(n - i));
}

inline Lanes load_piece(const float* p, int count) { return count == 16 ? load(p) : load_n(p, count); }
inline void store_piece(float* p, Lanes x, int count) {
  if (count == 16) {
    store(p, x);
  } else {
    store_n(p, x, count);
  }
}

// Four chains of 16 lanes, whatever d: element i goes to chain (i / 16) % 4.
inline float sum_of_squares(const float* x, int64_t d) {
  Lanes chains[4] = {zero(), zero(), zero(), zero()};
  int64_t i = 0;
  for (; i + 64 <= d; i += 64) {
    for (int c = 0; c < 4; ++c) {
      const Lanes v = load(x + i + 16 * c);
      chains[c] = fma(v, v, chains[c]);
    }
  }
  for (int c = 0; i < d; i += 16, ++c) {
    const Lanes v = load_piece(x + i, d - i < 16 ? static_cast<int>(d - i) : 16);
    chains[c] = fma(v, v, chains[c]);
  }
  return sum(add(add(chains[0], chains[1]), add(chains[2], chains[3])));
}

void rms_norm(const float* x, const float* w, float* y, int64_t d, float eps) {
  const float mean = sum_of_squares(x, d) / static_cast<float>(d);
  const Lanes inverse = set1(1.0f / __builtin_sqrtf(mean + eps));
  for_pieces(d, [&](int64_t i, int count) {
    store_piece(y + i, mul(mul(load_piece(x + i, count), inverse), load_piece(w + i, count)), count);
  });
}

void add_rms_norm(const float* x, const float* r, const float* w, float* total, float* y, int64_t d, float eps) {
  for_pieces(d, [&](int64_t i, int count) {
    store_piece(total + i, add(load_piece(x + i, count), load_piece(r + i, count)), count);
  });
  rms_norm(total, w, y, d, eps);
}

void silu_mul(const float* gate, const float* up, float* y, int64_t n) {
  for_pieces(n, [&](int64_t i, int count) {
    const Lanes g = load_piece(gate + i, count);
    const Lanes silu = div(g, add(set1(1.0f), exp_lanes(sub(zero(), g))));
    store_piece(y + i, mul(silu, load_piece(up + i, count)), count);
  });
}

void add_rows(const float* a, const float* b, float* y, int64_t n) {
  for_pieces(n, [&](int64_t i, int count) { store_piece(y + i, add(load_piece(a + i, count), load_piece(b + i, count)), count); });
}

void sigmoid_mul(const float* x, float gate, float* y, int64_t n) {
  const Lanes factor = sigmoid_lanes(set1(gate));
  for_pieces(n, [&](int64_t i, int count) { store_piece(y + i, mul(load_piece(x + i, count), factor), count); });
}

void sigmoid(const float* x, float* y, int64_t n) {
  for_pieces(n, [&](int64_t i, int count) { store_piece(y + i, sigmoid_lanes(load_piece(x + i, count)), count); });
}

// A NaN makes every output NaN.
void softmax(const float* x, float* y, int64_t n) {
  float highest = -kInfinity;
  for (int64_t i = 0; i < n; ++i) highest = x[i] > highest ? x[i] : highest;
  const Lanes shift = set1(highest);
  Lanes total = zero();
  for_pieces(n, [&](int64_t i, int count) {
    float e[16];
    store(e, exp_lanes(sub(load_piece(x + i, count), shift)));
    const Lanes kept = load_n(e, count);
    total = add(total, kept);
    store_piece(y + i, kept, count);
  });
  const Lanes divisor = set1(sum(total));
  for_pieces(n, [&](int64_t i, int count) { store_piece(y + i, div(load_piece(y + i, count), divisor), count); });
}

inline void copy_around(const float* x, float* y, int64_t begin, int64_t end, int64_t d) {
  if (x == y) return;
  std::memcpy(y, x, static_cast<size_t>(begin) * sizeof(float));
  std::memcpy(y + end, x + end, static_cast<size_t>(d - end) * sizeof(float));
}

void rope_half(const float* x, const float* cosine, const float* sine, float* y, int64_t offset, int64_t n, int64_t d) {
  copy_around(x, y, offset, offset + 2 * n, d);
  const float* x0 = x + offset;
  const float* x1 = x0 + n;
  float* y0 = y + offset;
  float* y1 = y0 + n;
  for_pieces(n, [&](int64_t i, int count) {
    const Lanes a = load_piece(x0 + i, count), b = load_piece(x1 + i, count);
    const Lanes c = load_piece(cosine + i, count), s = load_piece(sine + i, count);
    // Two products and a sum, each rounded, as Hugging Face computes it.
    store_piece(y0 + i, sub(mul(a, c), mul(b, s)), count);
    store_piece(y1 + i, add(mul(b, c), mul(a, s)), count);
  });
}

void rope_interleaved(const float* x, const float* cosine, const float* sine, float* y, int64_t offset, int64_t n, int64_t d) {
  copy_around(x, y, offset, offset + 2 * n, d);
  for (int64_t i = 0; i < n; ++i) {
    const float a = x[offset + 2 * i], b = x[offset + 2 * i + 1];
    y[offset + 2 * i] = a * cosine[i] - b * sine[i];
    y[offset + 2 * i + 1] = b * cosine[i] + a * sine[i];
  }
}

inline void kv_store16(const float* x, void* y, int64_t i, KvDType dtype) {
  if (dtype == KvDType::kF16) {
    store_f16(static_cast<uint16_t*>(y) + i, load(x + i));
  } else {
    store_bf16(static_cast<uint16_t*>(y) + i, load(x + i));
  }
}

void kv_store(const float* x, void* y, int64_t n, KvDType dtype) {
  if (dtype == KvDType::kF32) {
    std::memcpy(y, x, static_cast<size_t>(n) * sizeof(float));
    return;
  }
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) kv_store16(x, y, i, dtype);
  if (i < n) {
    float in[16];
    uint16_t out[16];
    store(in, load_n(x + i, static_cast<int>(n - i)));
    kv_store16(in, out, 0, dtype);
    std::memcpy(static_cast<uint16_t*>(y) + i, out, static_cast<size_t>(n - i) * sizeof(uint16_t));
  }
}
