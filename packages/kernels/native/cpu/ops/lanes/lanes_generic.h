// 16 f32 lanes in plain C++: the oracle of the other two, and what runs where neither exists. See lanes.md for the contract.
struct Lanes {
  float v[16];
};

constexpr int kScoreQueries = 1;
constexpr int kScoreVectors = 1;

template <class F>
inline Lanes each(const F& f) {
  Lanes r;
  for (int i = 0; i < 16; ++i) r.v[i] = f(i);
  return r;
}

inline Lanes set1(float x) {
  return each([&](int) { return x; });
}
inline Lanes zero() { return set1(0.0f); }
inline Lanes load(const float* p) {
  Lanes r;
  std::memcpy(r.v, p, sizeof r.v);
  return r;
}
inline Lanes load_n(const float* p, int n) {
  return each([&](int i) { return i < n ? p[i] : 0.0f; });
}
inline void store(float* p, const Lanes& a) { std::memcpy(p, a.v, sizeof a.v); }
inline void store_n(float* p, const Lanes& a, int n) {
  for (int i = 0; i < n; ++i) p[i] = a.v[i];
}

inline Lanes add(const Lanes& a, const Lanes& b) {
  return each([&](int i) { return a.v[i] + b.v[i]; });
}
inline Lanes sub(const Lanes& a, const Lanes& b) {
  return each([&](int i) { return a.v[i] - b.v[i]; });
}
inline Lanes mul(const Lanes& a, const Lanes& b) {
  return each([&](int i) { return a.v[i] * b.v[i]; });
}
inline Lanes div(const Lanes& a, const Lanes& b) {
  return each([&](int i) { return a.v[i] / b.v[i]; });
}
inline Lanes fma(const Lanes& a, const Lanes& b, const Lanes& c) {
#if defined(__FP_FAST_FMAF)
  return each([&](int i) { return __builtin_fmaf(a.v[i], b.v[i], c.v[i]); });
#else
  // No fused instruction here, and emulating it would cost a call a lane: two roundings.
  return each([&](int i) { return a.v[i] * b.v[i] + c.v[i]; });
#endif
}
inline Lanes max(const Lanes& a, const Lanes& b) {
  return each([&](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; });
}
inline Lanes min(const Lanes& a, const Lanes& b) {
  return each([&](int i) { return a.v[i] < b.v[i] ? a.v[i] : b.v[i]; });
}

inline float sum(const Lanes& a) {
  float t[8];
  for (int i = 0; i < 8; ++i) t[i] = a.v[i] + a.v[i + 8];
  for (int i = 0; i < 4; ++i) t[i] += t[i + 4];
  return (t[0] + t[2]) + (t[1] + t[3]);
}

inline float from_bits(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, 4);
  return x;
}
inline uint32_t to_bits(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return bits;
}

inline Lanes power_of_two(const Lanes& n) {
  return each([&](int i) { return n.v[i] == n.v[i] ? from_bits(static_cast<uint32_t>(static_cast<int32_t>(n.v[i]) + 127) << 23) : n.v[i]; });
}

inline float widen_f16(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16, rest = h & 0x7fff;
  if (rest >= 0x7c00) return from_bits(sign | 0x7f800000 | (rest & 0x3ff) << 13 | (rest > 0x7c00 ? 0x400000u : 0u));
  if (rest >= 0x400) return from_bits(sign | ((rest << 13) + (112u << 23)));
  const float magnitude = static_cast<float>(rest) * 0x1p-24f;
  return from_bits(sign | to_bits(magnitude));
}
inline uint16_t narrow_f16(float x) {
  const uint32_t bits = to_bits(x), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
  if (rest > 0x7f800000) return static_cast<uint16_t>(sign | 0x7e00 | (rest >> 13 & 0x3ff));
  if (rest >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00);
  if (rest < 0x38800000) {
    // The sum's last place is 2^-24, so the addition itself rounds to nearest even.
    const uint32_t steps = to_bits(from_bits(rest) + 0.5f) - to_bits(0.5f);
    return static_cast<uint16_t>(sign | steps);
  }
  const uint32_t rounded = rest + 0xfff + (rest >> 13 & 1);
  return static_cast<uint16_t>(sign | (rounded - (112u << 23)) >> 13);
}
inline uint16_t narrow_bf16(float x) {
  const uint32_t bits = to_bits(x);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline Lanes load_f16(const uint16_t* p) {
  return each([&](int i) { return widen_f16(p[i]); });
}
inline Lanes load_bf16(const uint16_t* p) {
  return each([&](int i) { return from_bits(static_cast<uint32_t>(p[i]) << 16); });
}
inline void store_f16(uint16_t* p, const Lanes& a) {
  for (int i = 0; i < 16; ++i) p[i] = narrow_f16(a.v[i]);
}
inline void store_bf16(uint16_t* p, const Lanes& a) {
  for (int i = 0; i < 16; ++i) p[i] = narrow_bf16(a.v[i]);
}

// In place: row i of the 16 x 16 matrix becomes column i.
inline void transpose(Lanes (&r)[16]) {
  for (int i = 0; i < 16; ++i) {
    for (int j = i + 1; j < 16; ++j) {
      const float t = r[i].v[j];
      r[i].v[j] = r[j].v[i];
      r[j].v[i] = t;
    }
  }
}
