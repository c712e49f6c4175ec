// Products by weight format and row count, beside what the machine reaches in plain loops in the same run.
//   products_bench [--threads 2] [--isa generic|avx2|avx512] [--formats Q8_0,Q4_K] [--rows 1,4,8,512] [--exact] [--mb 96]
// Built from the objects of `node scripts/build-native.mjs`, in packages/kernels:
//   g++ -std=c++17 -O3 -Inative/include native/bench/products_bench.cc build/Release/obj/cpu__*.o -lpthread -o build/products_bench
// GB/s: packed bytes a second (each product reads every weight once); GOP/s: 2 operations a multiply-add.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "../cpu/products/formats.h"
#include "dsi/isa.h"
#include "dsi/products.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

using namespace dsi;
using Clock = std::chrono::steady_clock;

double seconds(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Best of several runs within about `budget` seconds: other processes can only slow one down.
template <class F>
double best_time(double budget, const F& f) {
  double best = 1e30;
  const auto start = Clock::now();
  int runs = 0;
  do {
    const auto t = Clock::now();
    f();
    best = std::min(best, seconds(t));
  } while (++runs < 3 || seconds(start) < budget);
  return best;
}

// Sum of a buffer, so that the reads cannot be dropped.
uint64_t read_all(const uint8_t* p, size_t bytes) {
  uint64_t s[8] = {};
  for (size_t i = 0; i + 64 <= bytes; i += 64)
    for (int j = 0; j < 8; ++j) {
      uint64_t v;
      std::memcpy(&v, p + i + 8 * static_cast<size_t>(j), 8);
      s[j] ^= v;
    }
  return s[0] ^ s[1] ^ s[2] ^ s[3] ^ s[4] ^ s[5] ^ s[6] ^ s[7];
}

double read_bandwidth(ThreadPool& pool, const std::vector<uint8_t>& buffer, double budget) {
  constexpr size_t kTile = 128 * 1024;
  std::atomic<uint64_t> sink{0};
  const int64_t tiles = static_cast<int64_t>(buffer.size() / kTile);
  const double t = best_time(budget, [&] {
    pool.run(tiles, [&](int64_t tile, int) { sink ^= read_all(buffer.data() + static_cast<size_t>(tile) * kTile, kTile); });
  });
  return static_cast<double>(tiles) * kTile / t / 1e9;
}

#if defined(__x86_64__)
constexpr int64_t kPeakSteps = 20000;

__attribute__((target("avx512f,avx512vnni"))) int peak_int8_512() {
  __m512i a0 = _mm512_setzero_si512(), a1 = a0, a2 = a0, a3 = a0, a4 = a0, a5 = a0, a6 = a0, a7 = a0, a8 = a0, a9 = a0, a10 = a0, a11 = a0;
  __m512i x = _mm512_set1_epi32(0x01020304), y = x;
  for (int64_t i = 0; i < kPeakSteps; ++i)
    __asm__ volatile(
        "vpdpbusd %13, %12, %0\n\tvpdpbusd %13, %12, %1\n\tvpdpbusd %13, %12, %2\n\tvpdpbusd %13, %12, %3\n\t"
        "vpdpbusd %13, %12, %4\n\tvpdpbusd %13, %12, %5\n\tvpdpbusd %13, %12, %6\n\tvpdpbusd %13, %12, %7\n\t"
        "vpdpbusd %13, %12, %8\n\tvpdpbusd %13, %12, %9\n\tvpdpbusd %13, %12, %10\n\tvpdpbusd %13, %12, %11"
        : "+v"(a0), "+v"(a1), "+v"(a2), "+v"(a3), "+v"(a4), "+v"(a5), "+v"(a6), "+v"(a7), "+v"(a8), "+v"(a9), "+v"(a10), "+v"(a11)
        : "v"(x), "v"(y));
  return _mm512_reduce_add_epi32(a0) + _mm512_reduce_add_epi32(a11);
}

__attribute__((target("avx2"))) int peak_int8_256() {
  __m256i a[6];
  for (auto& v : a) v = _mm256_setzero_si256();
  __m256i x = _mm256_set1_epi32(0x01020304), ones = _mm256_set1_epi16(1);
  for (int64_t i = 0; i < kPeakSteps; ++i)
    for (auto& v : a) {
      __asm__ volatile("" : "+x"(x));
      v = _mm256_add_epi32(v, _mm256_madd_epi16(_mm256_maddubs_epi16(x, x), ones));
    }
  int s = 0;
  for (auto& v : a) s += _mm256_extract_epi32(v, 0);
  return s;
}

double peak_int8(ThreadPool& pool, Isa isa, double budget) {
  if (isa == Isa::kGeneric) return 0;
  const bool wide = isa == Isa::kAvx512;
  std::atomic<int> sink{0};
  const int64_t tiles = 8 * pool.size();
  const double t = best_time(budget, [&] { pool.run(tiles, [&](int64_t, int) { sink += wide ? peak_int8_512() : peak_int8_256(); }); });
  return static_cast<double>(tiles) * kPeakSteps * (wide ? 12 * 128.0 : 6 * 64.0) / t / 1e9;
}
#else
double peak_int8(ThreadPool&, Isa, double) { return 0; }
#endif

std::vector<std::string> split(const char* list) {
  std::vector<std::string> out;
  std::stringstream stream(list);
  for (std::string item; std::getline(stream, item, ',');) out.push_back(item);
  return out;
}

bool is_listed(const std::vector<std::string>& names, const char* name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

// Zero blocks are valid in every format and cost the same; scales of one.
std::unique_ptr<PackedWeight> make_weight(Format format, int64_t rows, int64_t cols, Numerics numerics, ThreadPool& pool, size_t* file_bytes) {
  const auto& info = products::format_info(format);
  std::vector<uint8_t> data(static_cast<size_t>(rows * (cols / info.block_elements) * info.block_bytes));
  uint32_t state = 1;
  for (uint8_t& b : data) b = static_cast<uint8_t>((state = state * 1664525u + 1013904223u) >> 24) & 0x3b;  // no infinities in any format
  std::vector<float> ones(static_cast<size_t>(rows * (cols / 32)), 1.0f);
  const std::vector<Bytes> one_bytes = {{reinterpret_cast<const uint8_t*>(ones.data()), ones.size() * 4}};
  WeightSource s{};
  s.format = format;
  s.groups = 1;
  s.rows = rows;
  s.cols = cols;
  s.data = {{data.data(), data.size()}};
  *file_bytes = data.size();
  if (format == Format::kF8_E4M3 || format == Format::kF8_E5M2) {
    s.block_rows = s.block_cols = 128;
    s.block_scales = {{one_bytes[0].data, static_cast<size_t>((rows + 127) / 128 * ((cols + 127) / 128) * 4)}};
    *file_bytes += s.block_scales[0].size;
  } else if (format == Format::kINT4_GROUP) {
    s.group_size = 128;
    s.scales = s.zeros = {{one_bytes[0].data, static_cast<size_t>(rows * (cols / 128) * 4)}};
    *file_bytes += 2 * s.scales[0].size;
  }
  return pack_weight(s, {numerics, false}, pool);
}

}  // namespace

int main(int argc, char** argv) {
  int threads = 2;
  double megabytes = 96, budget = 0.4;
  std::vector<std::string> formats, row_counts = {"1", "4", "8", "32", "512"};
  Numerics numerics = Numerics::kFast;
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (a == "--exact") {
      numerics = Numerics::kExact;
      continue;
    }
    if (a == "--threads") threads = std::atoi(value);
    else if (a == "--mb") megabytes = std::atof(value);
    else if (a == "--seconds") budget = std::atof(value);
    else if (a == "--formats") formats = split(value);
    else if (a == "--rows") row_counts = split(value);
    else if (a == "--isa") set_isa(!std::strcmp(value, "avx512") ? Isa::kAvx512 : !std::strcmp(value, "avx2") ? Isa::kAvx2 : Isa::kGeneric);
    else {
      std::fprintf(stderr, "unknown option %s; see the top of products_bench.cc\n", a.c_str());
      return 2;
    }
    ++i;
  }
  ThreadPool pool(threads);
  auto scratch = make_product_scratch();
  const std::vector<uint8_t> buffer(static_cast<size_t>(megabytes * 1e6), 1);
  std::printf("%s, %d threads, %s numerics; best of about %.1f s each\n", isa_name(current_isa()), threads, numerics == Numerics::kFast ? "fast" : "exact", budget);
  std::printf("%-10s %9s %9s %8s %8s %9s %8s %8s %7s %7s\n", "format", "bits/w", "file", "rows", "ms", "GB/s", "read", "GOP/s", "peak", "share");
  for (int f = 0; f < products::kFormatCount; ++f) {
    const Format format = static_cast<Format>(f);
    const auto& info = products::format_info(format);
    if (!is_listed(formats, info.name)) continue;
    constexpr int64_t kCols = 1536;
    const double row_bytes = static_cast<double>(kCols / info.block_elements * info.block_bytes);
    const int64_t large_rows = static_cast<int64_t>(megabytes * 1e6 / row_bytes) / 16 * 16;
    for (const std::string& text : row_counts) {
      const int64_t m = std::atoll(text.c_str());
      const int64_t rows = m > 8 ? 4096 : large_rows;  // compute-bound cases need no large matrix
      size_t file_bytes;
      const auto weight = make_weight(format, rows, kCols, numerics, pool, &file_bytes);
      std::vector<float> x(static_cast<size_t>(m * kCols)), y(static_cast<size_t>(m * rows));
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17) - 8.0f;
      const LinearOutput out{weight.get(), nullptr, y.data(), rows};
      const double read = m > 8 ? 0 : read_bandwidth(pool, buffer, budget / 2);
      const double peak = m > 1 ? peak_int8(pool, current_isa(), budget / 2) : 0;
      const double t = best_time(budget, [&] { linear(x.data(), kCols, m, &out, 1, *scratch, pool); });
      const double bandwidth = static_cast<double>(weight->bytes()) / t / 1e9;
      const double rate = 2.0 * static_cast<double>(m * rows * kCols) / t / 1e9;
      std::printf("%-10s %9.3f %9.3f %8lld %8.3f %9.1f %8.1f %8.0f %7.0f %6.0f%%\n", info.name,
                  8.0 * static_cast<double>(weight->bytes()) / static_cast<double>(rows * kCols),
                  8.0 * static_cast<double>(file_bytes) / static_cast<double>(rows * kCols), static_cast<long long>(m), t * 1e3, bandwidth, read,
                  rate, peak, 100 * std::max(read > 0 && m == 1 ? bandwidth / read : 0, peak > 0 ? rate / peak : 0));
      std::fflush(stdout);
    }
  }
  return 0;
}
