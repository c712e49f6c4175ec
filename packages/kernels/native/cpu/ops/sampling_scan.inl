// Whole-vocabulary passes of the sampler. f64 in GCC vectors of 8: no fused operation, so these bits are equal on every instruction set.

typedef double Doubles __attribute__((vector_size(64)));
typedef int64_t Integers __attribute__((vector_size(64)));
typedef float Floats8 __attribute__((vector_size(32)));

inline Doubles splat(double x) { return Doubles{x, x, x, x, x, x, x, x}; }

inline Doubles widen8(const float* p) {
  Floats8 f;
  std::memcpy(&f, p, sizeof f);
  return __builtin_convertvector(f, Doubles);
}

// e^x for x <= 0, relative error below 1e-15; 0 below -708 and for -inf.
inline Doubles exp_doubles(Doubles x) {
  const Doubles magic = splat(6755399441055744.0);  // 1.5 * 2^52
  const Integers gone = x < splat(-708.0);
  x = gone ? splat(-708.0) : x;
  const Doubles shifted = x * splat(1.4426950408889634) + magic;
  const Doubles n = shifted - magic;
  const Doubles r = (x - n * splat(6.93147180369123816490e-01)) - n * splat(1.90821492927058770002e-10);
  Doubles p = splat(1.0 / 6227020800.0);
  p = p * r + splat(1.0 / 479001600.0);
  p = p * r + splat(1.0 / 39916800.0);
  p = p * r + splat(1.0 / 3628800.0);
  p = p * r + splat(1.0 / 362880.0);
  p = p * r + splat(1.0 / 40320.0);
  p = p * r + splat(1.0 / 5040.0);
  p = p * r + splat(1.0 / 720.0);
  p = p * r + splat(1.0 / 120.0);
  p = p * r + splat(1.0 / 24.0);
  p = p * r + splat(1.0 / 6.0);
  p = p * r + splat(0.5);
  p = p * r + splat(1.0);
  p = p * r + splat(1.0);
  // The low bits of `shifted` are the whole number n.
  const Integers exponent = ((Integers)shifted << 52) + (Integers)splat(1.0);
  return gone ? splat(0.0) : p * (Doubles)exponent;
}

inline double sum8(Doubles a) { return ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7])); }

// Calls body(values) for every 16 of x, the last padded with -inf.
template <class Body>
inline void for_sixteens(const float* x, int64_t n, const Body& body) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) body(x + i);
  if (i < n) {
    float last[16];
    for (int j = 0; j < 16; ++j) last[j] = i + j < n ? x[i + j] : -kInfinity;
    body(last);
  }
}

bool scan(const float* x, int64_t n, float* highest, int64_t* index) {
  // x - x is 0 for a finite x and NaN for the others, and NaN stays in a sum.
  Lanes most = set1(-kInfinity), odd = zero();
  for_pieces(n, [&](int64_t i, int count) {
    const Lanes v = load_piece(x + i, count);
    odd = add(odd, sub(v, v));
  });
  for_sixteens(x, n, [&](const float* p) { most = max(load(p), most); });
  float m[16];
  store(m, most);
  float peak = m[0];
  for (int j = 1; j < 16; ++j) peak = m[j] > peak ? m[j] : peak;
  int64_t at = 0;
  while (at + 1 < n && x[at] != peak) ++at;
  *highest = peak;
  *index = at;
  return sum(odd) == 0.0f;
}

double sum_exp(const float* x, int64_t n, double shift) {
  const Doubles s = splat(shift);
  Doubles a = splat(0.0), b = splat(0.0);
  for_sixteens(x, n, [&](const float* p) {
    a += exp_doubles(widen8(p) - s);
    b += exp_doubles(widen8(p + 8) - s);
  });
  return sum8(a + b);
}

void moments(const float* x, int64_t n, double centre, int64_t* count, double* total, double* squares) {
  const Doubles c = splat(centre), floor = splat(-__builtin_inf());
  Doubles sum = splat(0.0), square = splat(0.0);
  Integers kept = {0, 0, 0, 0, 0, 0, 0, 0};
  for_sixteens(x, n, [&](const float* p) {
    for (int half = 0; half < 2; ++half) {
      const Doubles v = widen8(p + 8 * half);
      const Integers in = v > floor;
      const Doubles d = in ? v - c : splat(0.0);
      kept -= in;
      sum += in ? v : splat(0.0);
      square += d * d;
    }
  });
  int64_t k = 0;
  for (int j = 0; j < 8; ++j) k += kept[j];
  *count = k;
  *total = sum8(sum);
  *squares = sum8(square);
}

// Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC 2011), Philox4x32 with ten rounds. Plain loops over 16 blocks:
// integers, so the compiler's vectors cannot change a bit.
void philox(uint32_t key0, uint32_t key1, uint32_t first_block, uint32_t c1, uint32_t c2, uint32_t c3, int blocks, uint32_t* words) {
  for (int b = 0; b < blocks; b += 16) {
    uint32_t x0[16], x1[16], x2[16], x3[16];
    for (int i = 0; i < 16; ++i) {
      x0[i] = first_block + static_cast<uint32_t>(b + i);
      x1[i] = c1;
      x2[i] = c2;
      x3[i] = c3;
    }
    uint32_t k0 = key0, k1 = key1;
    for (int round = 0; round < 10; ++round) {
      for (int i = 0; i < 16; ++i) {
        const uint64_t p0 = static_cast<uint64_t>(0xD2511F53u) * x0[i];
        const uint64_t p1 = static_cast<uint64_t>(0xCD9E8D57u) * x2[i];
        x0[i] = static_cast<uint32_t>(p1 >> 32) ^ x1[i] ^ k0;
        x1[i] = static_cast<uint32_t>(p1);
        x2[i] = static_cast<uint32_t>(p0 >> 32) ^ x3[i] ^ k1;
        x3[i] = static_cast<uint32_t>(p0);
      }
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    for (int i = 0; i < 16; ++i) {
      words[4 * (b + i)] = x0[i];
      words[4 * (b + i) + 1] = x1[i];
      words[4 * (b + i) + 2] = x2[i];
      words[4 * (b + i) + 3] = x3[i];
    }
  }
}
