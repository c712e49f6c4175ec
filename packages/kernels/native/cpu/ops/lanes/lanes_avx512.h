// 16 f32 lanes on AVX-512. Included once a translation unit, inside its anonymous namespace: see lanes.md for the contract of all three.
struct Lanes {
  __m512 v;
};

constexpr int kScoreQueries = 4;  // register tile of the attention products: queries x vectors of 16
constexpr int kScoreVectors = 4;

inline __mmask16 first(int n) { return static_cast<__mmask16>((1u << n) - 1u); }

inline Lanes zero() { return {_mm512_setzero_ps()}; }
inline Lanes set1(float x) { return {_mm512_set1_ps(x)}; }
inline Lanes load(const float* p) { return {_mm512_loadu_ps(p)}; }
inline Lanes load_n(const float* p, int n) { return {_mm512_maskz_loadu_ps(first(n), p)}; }
inline void store(float* p, Lanes a) { _mm512_storeu_ps(p, a.v); }
inline void store_n(float* p, Lanes a, int n) { _mm512_mask_storeu_ps(p, first(n), a.v); }

inline Lanes add(Lanes a, Lanes b) { return {_mm512_add_ps(a.v, b.v)}; }
inline Lanes sub(Lanes a, Lanes b) { return {_mm512_sub_ps(a.v, b.v)}; }
inline Lanes mul(Lanes a, Lanes b) { return {_mm512_mul_ps(a.v, b.v)}; }
inline Lanes div(Lanes a, Lanes b) { return {_mm512_div_ps(a.v, b.v)}; }
inline Lanes fma(Lanes a, Lanes b, Lanes c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
inline Lanes max(Lanes a, Lanes b) { return {_mm512_max_ps(a.v, b.v)}; }
inline Lanes min(Lanes a, Lanes b) { return {_mm512_min_ps(a.v, b.v)}; }

inline float sum(Lanes a) {
  const __m256 h = _mm256_add_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
  const __m128 q = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
  const __m128 d = _mm_add_ps(q, _mm_movehl_ps(q, q));
  return _mm_cvtss_f32(_mm_add_ss(d, _mm_shuffle_ps(d, d, 1)));
}

// 2^n for integral n in [-126, 127].
inline Lanes power_of_two(Lanes n) {
  const __m512i i = _mm512_cvtps_epi32(n.v);
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(i, _mm512_set1_epi32(127)), 23))};
}

inline Lanes load_f16(const uint16_t* p) { return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))}; }
inline Lanes load_bf16(const uint16_t* p) {
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))), 16))};
}
inline void store_f16(uint16_t* p, Lanes a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
inline void store_bf16(uint16_t* p, Lanes a) {
  // Not VCVTNEPS2BF16: it flushes subnormals.
  const __m512i bits = _mm512_castps_si512(a.v);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i rounded = _mm512_srli_epi32(_mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff))), 16);
  const __m512i quiet = _mm512_or_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(0x40));
  const __mmask16 nan = _mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(_mm512_mask_blend_epi32(nan, rounded, quiet)));
}

// In place: row i of the 16 x 16 matrix becomes column i.
inline void transpose(Lanes (&r)[16]) {
  __m512 t[16];
  for (int i = 0; i < 16; i += 4) {
    const __m512 a = _mm512_unpacklo_ps(r[i].v, r[i + 1].v), b = _mm512_unpackhi_ps(r[i].v, r[i + 1].v);
    const __m512 c = _mm512_unpacklo_ps(r[i + 2].v, r[i + 3].v), d = _mm512_unpackhi_ps(r[i + 2].v, r[i + 3].v);
    t[i] = _mm512_shuffle_ps(a, c, 0x44);
    t[i + 1] = _mm512_shuffle_ps(a, c, 0xee);
    t[i + 2] = _mm512_shuffle_ps(b, d, 0x44);
    t[i + 3] = _mm512_shuffle_ps(b, d, 0xee);
  }
  // t[4g + k] holds, in its 128-bit lane l, column 4l + k of rows 4g .. 4g+3.
  for (int k = 0; k < 4; ++k) {
    const __m512 low01 = _mm512_shuffle_f32x4(t[k], t[4 + k], 0x88), high01 = _mm512_shuffle_f32x4(t[k], t[4 + k], 0xdd);
    const __m512 low23 = _mm512_shuffle_f32x4(t[8 + k], t[12 + k], 0x88), high23 = _mm512_shuffle_f32x4(t[8 + k], t[12 + k], 0xdd);
    r[k].v = _mm512_shuffle_f32x4(low01, low23, 0x88);
    r[8 + k].v = _mm512_shuffle_f32x4(low01, low23, 0xdd);
    r[4 + k].v = _mm512_shuffle_f32x4(high01, high23, 0x88);
    r[12 + k].v = _mm512_shuffle_f32x4(high01, high23, 0xdd);
  }
}
