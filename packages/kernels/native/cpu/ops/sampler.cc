#include "cpu/ops/sampler.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "cpu/ops/parallel.h"
#include "cpu/ops/row_kernels.h"

namespace dsi {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
constexpr int64_t kBlock = 16;        // of the maxima that bound a k-th largest
constexpr int kBins = 16384;          // of top_p: 32 units of logit below the maximum
constexpr float kBinsPerUnit = 512.0f;
constexpr int64_t kNoiseBlock = 64;   // ids of one batch of noise words
constexpr double kHighestNoise = 22.88;  // -log(-log(1 - 2^-33)) = 22.874

// Working memory of one row; reused over rows.
struct Workspace {
  std::vector<float> z;           // [V] processed logits; -inf = banned
  std::vector<float> maxima;      // of blocks
  std::vector<float> values;      // of candidates
  std::vector<int32_t> ids;       // candidates
  std::vector<int32_t> edge;      // candidates around the edge of top_p
  std::vector<int32_t> counts;    // candidates a bin
  std::vector<int32_t> top;       // for log-probabilities
  std::vector<std::pair<double, int32_t>> order;
};

// Ids of x that can be among its k largest: all x >= some bound that at least k entries reach (or everything above -inf).
void gather_top(const float* x, int64_t n, int64_t k, std::vector<float>& maxima, std::vector<int32_t>& ids) {
  float bound = kMinusInfinity;
  const int64_t blocks = n / kBlock;
  if (k > 0 && k < blocks) {
    maxima.resize(static_cast<size_t>(blocks));
    for (int64_t b = 0; b < blocks; ++b) {
      float m = x[b * kBlock];
      for (int64_t i = 1; i < kBlock; ++i) m = x[b * kBlock + i] > m ? x[b * kBlock + i] : m;
      maxima[static_cast<size_t>(b)] = m;
    }
    std::nth_element(maxima.begin(), maxima.begin() + (k - 1), maxima.end(), std::greater<float>());
    bound = maxima[static_cast<size_t>(k - 1)];
  }
  ids.clear();
  for (int64_t i = 0; i < n; ++i) {
    if (x[i] >= bound && x[i] > kMinusInfinity) ids.push_back(static_cast<int32_t>(i));
  }
}

void sort_descending(const float* x, std::vector<int32_t>& ids) {
  std::sort(ids.begin(), ids.end(), [x](int32_t a, int32_t b) { return x[a] > x[b] || (x[a] == x[b] && a < b); });
}

struct Philox {
  uint32_t key0, key1, choice, index;

  // Words of the block `block` of stream `stream` (0: the draw, 1: xtc).
  void words(uint32_t block, uint32_t stream, uint32_t (&out)[4]) const {
    uint32_t x0 = block, x1 = choice, x2 = index, x3 = stream, k0 = key0, k1 = key1;
    for (int round = 0; round < 10; ++round) {
      const uint64_t p0 = static_cast<uint64_t>(0xD2511F53u) * x0, p1 = static_cast<uint64_t>(0xCD9E8D57u) * x2;
      const uint32_t n0 = static_cast<uint32_t>(p1 >> 32) ^ x1 ^ k0, n2 = static_cast<uint32_t>(p0 >> 32) ^ x3 ^ k1;
      x1 = static_cast<uint32_t>(p1);
      x3 = static_cast<uint32_t>(p0);
      x0 = n0;
      x2 = n2;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    out[0] = x0;
    out[1] = x1;
    out[2] = x2;
    out[3] = x3;
  }
};

double uniform(uint32_t word) { return (static_cast<double>(word) + 0.5) * 0x1p-32; }
double gumbel(uint32_t word) { return -std::log(-std::log(uniform(word))); }

class RowSampler {
 public:
  RowSampler(const SampleCall& call, int64_t row, Workspace& work, const RowKernels& kernels)
      : call_(call),
        row_(row),
        v_(call.vocabulary),
        logits_(call.logits + row * call.vocabulary),
        f_(call.params_f32 + row * kSampleColumns),
        i_(call.params_i32 + row * kSampleColumns),
        work_(work),
        kernels_(kernels) {}

  void run() {
    clear_outputs();
    float peak;
    int64_t at;
    if (!kernels_.scan(logits_, v_, &peak, &at)) return fail(kSampleNonFinite);
    const bool greedy = f_[kTemperature] == 0.0f;
    const bool processed = i_[kProcessedLogprobs] != 0 && i_[kLogprobs] >= 0;
    if (greedy && !processed && !has_edits()) {
      token_ = static_cast<int32_t>(at);
    } else {
      apply_edits();
      if (!greedy) apply_temperature();
      kernels_.scan(z(), v_, &highest_, &at);
      if (highest_ == kMinusInfinity) return fail(kSampleNoCandidate);
      best_id_ = static_cast<int32_t>(at);
      token_ = best_id_;
      if (!greedy) {
        filter();
        draw();
      }
    }
    call_.tokens[row_] = token_;
    if (i_[kLogprobs] < 0) return;
    if (processed) {
      processed_logprobs();
    } else {
      raw_logprobs(peak);
    }
  }

 private:
  float* z() { return work_.z.data(); }

  void clear_outputs() {
    call_.status[row_] = kSampleOk;
    call_.tokens[row_] = -1;
    call_.logprobs[row_] = 0.0f;
    std::fill_n(call_.top_ids + row_ * call_.top_logprobs, call_.top_logprobs, -1);
    std::fill_n(call_.top_logprob_values + row_ * call_.top_logprobs, call_.top_logprobs, 0.0f);
  }

  void fail(SampleStatus status) { call_.status[row_] = status; }

  bool has_edits() const {
    return call_.bias_starts[row_] != call_.bias_starts[row_ + 1] || call_.penalty_starts[row_] != call_.penalty_starts[row_ + 1];
  }

  // logits -> z: biases, repetition penalty (once per listed id), frequency and presence penalties. f32, one rounding a step.
  void apply_edits() {
    work_.z.resize(static_cast<size_t>(v_));
    std::memcpy(z(), logits_, static_cast<size_t>(v_) * sizeof(float));
    for (int32_t j = call_.bias_starts[row_]; j < call_.bias_starts[row_ + 1]; ++j) z()[call_.bias_ids[j]] += call_.bias_values[j];
    const float repetition = f_[kRepetitionPenalty], frequency = f_[kFrequencyPenalty], presence = f_[kPresencePenalty];
    for (int32_t j = call_.penalty_starts[row_]; j < call_.penalty_starts[row_ + 1]; ++j) {
      float& x = z()[call_.penalty_ids[j]];
      if (repetition != 1.0f) x = x < 0.0f ? x * repetition : x / repetition;
      const int32_t count = call_.penalty_counts[j];
      if (count > 0) {
        x -= static_cast<float>(count) * frequency;
        x -= presence;
      }
    }
  }

  void apply_temperature() {
    const float t = f_[kTemperature];
    float peak;
    int64_t at;
    kernels_.scan(z(), v_, &peak, &at);
    // A tiny temperature would overflow the best logit: the same distribution relative to it instead.
    const float shift = std::isfinite(peak / t) ? 0.0f : peak;
    if (peak == kMinusInfinity) return;
    for (int64_t i = 0; i < v_; ++i) z()[i] = (z()[i] - shift) / t;
  }

  // Candidates of z that are still in: all above -inf while `dense_`, else work_.ids.
  void set_candidates_from(double threshold) {
    const auto keep = [&](int32_t id) { return static_cast<double>(z()[id]) >= threshold; };
    if (dense_) {
      work_.ids.clear();
      for (int64_t i = 0; i < v_; ++i) {
        if (z()[i] > kMinusInfinity && keep(static_cast<int32_t>(i))) work_.ids.push_back(static_cast<int32_t>(i));
      }
      dense_ = false;
    } else {
      work_.ids.erase(std::remove_if(work_.ids.begin(), work_.ids.end(), [&](int32_t id) { return !keep(id); }), work_.ids.end());
    }
  }

  // z of the candidates as one array; n of them.
  const float* values(int64_t& n) {
    if (dense_) {
      n = v_;
      return z();
    }
    work_.values.clear();
    for (const int32_t id : work_.ids) work_.values.push_back(z()[id]);
    n = static_cast<int64_t>(work_.ids.size());
    return work_.values.data();
  }

  double mass() {
    int64_t n;
    const float* x = values(n);
    return kernels_.sum_exp(x, n, highest_);
  }

  double weight(int32_t id) { return std::exp(static_cast<double>(z()[id]) - highest_); }

  void filter() {
    dense_ = true;
    if (f_[kTopNSigma] > 0.0f) top_n_sigma(f_[kTopNSigma]);
    if (i_[kTopK] > 0 && i_[kTopK] < v_) top_k(i_[kTopK]);
    if (f_[kTypicalP] > 0.0f && f_[kTypicalP] < 1.0f) typical_p(f_[kTypicalP]);
    if (f_[kTopP] < 1.0f) top_p(f_[kTopP]);
    if (f_[kMinP] > 0.0f) min_p(f_[kMinP]);
    if (f_[kXtcProbability] > 0.0f) xtc(f_[kXtcProbability], f_[kXtcThreshold]);
  }

  // Keeps z >= max - n * (population standard deviation of the candidates).
  void top_n_sigma(float sigmas) {
    int64_t n, count;
    double sum, squares;
    const float* x = values(n);
    kernels_.moments(x, n, 0.0, &count, &sum, &squares);
    kernels_.moments(x, n, sum / static_cast<double>(count), &count, &sum, &squares);
    set_candidates_from(highest_ - sigmas * std::sqrt(squares / static_cast<double>(count)));
  }

  // Keeps everything that is not below the k-th largest.
  void top_k(int64_t k) {
    if (dense_) {
      gather_top(z(), v_, k, work_.maxima, work_.ids);
      dense_ = false;
    }
    if (static_cast<int64_t>(work_.ids.size()) <= k) return;
    int64_t n;
    values(n);
    std::nth_element(work_.values.begin(), work_.values.begin() + (k - 1), work_.values.end(), std::greater<float>());
    set_candidates_from(work_.values[static_cast<size_t>(k - 1)]);
  }

  // Meister et al., Locally typical sampling (2023): the smallest set of those whose information is nearest to the entropy, with mass p.
  void typical_p(float p) {
    set_candidates_from(-std::numeric_limits<double>::infinity());
    if (work_.ids.size() < 2) return;
    const double total = mass(), log_total = std::log(total);
    double expected = 0.0;  // of z - max
    for (const int32_t id : work_.ids) expected += weight(id) * (static_cast<double>(z()[id]) - highest_);
    const double entropy = log_total - expected / total;
    auto& order = work_.order;
    order.clear();
    for (const int32_t id : work_.ids) {
      const double information = log_total - (static_cast<double>(z()[id]) - highest_);
      order.emplace_back(std::abs(information - entropy), id);
    }
    // The nearest in order, as many as the mass needs: mostly few.
    size_t last = 0, sorted = 0;
    for (double sum = 0.0; last + 1 < order.size(); ++last) {
      if (last == sorted) {
        const auto begin = order.begin() + static_cast<std::ptrdiff_t>(sorted);
        sorted = std::min(order.size(), std::max<size_t>(1024, 8 * sorted));
        const auto end = order.begin() + static_cast<std::ptrdiff_t>(sorted);
        std::nth_element(begin, end - 1, order.end());
        std::sort(begin, end);
      }
      sum += weight(order[last].second);
      if (sum >= p * total) break;
    }
    const double farthest = order[last].first;
    work_.ids.clear();
    for (const auto& [distance, id] : order) {
      if (distance <= farthest) work_.ids.push_back(id);
    }
    find_highest();
  }

  // Keeps the best while the mass above is below p: what Hugging Face's ascending sum drops, from the other end. Only the candidates around
  // the edge are sorted: counts of z by steps of 1/512 below the maximum bound the mass above each step from both sides.
  void top_p(float p) {
    const double wanted = p * mass();
    set_candidates_from(-std::numeric_limits<double>::infinity());
    const auto bin = [&](int32_t id) { return static_cast<int>(std::min((highest_ - z()[id]) * kBinsPerUnit, static_cast<float>(kBins - 1))); };
    work_.counts.assign(kBins, 0);
    for (const int32_t id : work_.ids) ++work_.counts[static_cast<size_t>(bin(id))];
    // Bins before `inside` are kept for sure; bins from `outside` on are dropped for sure. 1e-5 covers the roundings of the bins' edges.
    int inside = 0, outside = 0;
    double least = 0.0, most = 0.0, upper = 1.0;  // upper: weight at the bin's upper edge
    for (int b = 0; b < kBins && least < wanted; ++b) {
      const double n = static_cast<double>(work_.counts[static_cast<size_t>(b)]);
      const double lower = b == kBins - 1 ? 0.0 : std::exp(-(b + 1) / static_cast<double>(kBinsPerUnit));
      most += n * upper * (1 + 1e-5);
      least += n * lower * (1 - 1e-5);
      upper = lower;
      if (most < wanted) inside = b + 1;
      outside = b + 1;
    }
    work_.values.clear();
    work_.edge.clear();
    size_t kept = 0;
    for (const int32_t id : work_.ids) {
      const int b = bin(id);
      if (b < inside) {
        work_.ids[kept++] = id;
        work_.values.push_back(z()[id]);
      } else if (b < outside) {
        work_.edge.push_back(id);
      }
    }
    work_.ids.resize(kept);
    double above = kernels_.sum_exp(work_.values.data(), static_cast<int64_t>(kept), highest_);
    sort_descending(z(), work_.edge);
    for (const int32_t id : work_.edge) {
      if (!work_.ids.empty() && above >= wanted) break;
      above += weight(id);
      work_.ids.push_back(id);
    }
  }

  void min_p(float p) {
    set_candidates_from(highest_ + std::log(static_cast<double>(p)) - 1e-3);
    work_.ids.erase(std::remove_if(work_.ids.begin(), work_.ids.end(), [&](int32_t id) { return weight(id) < p; }), work_.ids.end());
  }

  // With the given probability removes all candidates of at least `threshold` but the least likely of them (ties: the highest id stays).
  void xtc(float probability, float threshold) {
    uint32_t words[4];
    noise().words(0, 1, words);
    if (uniform(words[0]) >= probability) return;
    const double least = threshold * mass();
    set_candidates_from(-std::numeric_limits<double>::infinity());
    sort_descending(z(), work_.ids);
    size_t above = 0;
    while (above < work_.ids.size() && weight(work_.ids[above]) >= least) ++above;
    if (above < 2) return;
    work_.ids.erase(work_.ids.begin(), work_.ids.begin() + static_cast<std::ptrdiff_t>(above - 1));
    find_highest();
  }

  void find_highest() {
    best_id_ = *std::min_element(work_.ids.begin(), work_.ids.end(),
                                 [&](int32_t a, int32_t b) { return z()[a] > z()[b] || (z()[a] == z()[b] && a < b); });
    highest_ = z()[best_id_];
  }

  Philox noise() const {
    return {static_cast<uint32_t>(i_[kSeedLow]), static_cast<uint32_t>(i_[kSeedHigh]), static_cast<uint32_t>(i_[kChoice]),
            static_cast<uint32_t>(i_[kIndex])};
  }

  // argmax of z + G, ties to the lowest id. The best candidate goes first, so that the others are held against a high score early.
  void draw() {
    const Philox philox = noise();
    uint32_t words[4];
    philox.words(static_cast<uint32_t>(best_id_) >> 2, 0, words);
    token_ = best_id_;
    best_score_ = static_cast<double>(z()[best_id_]) + gumbel(words[best_id_ & 3]);
    // Many candidates: what is not one of them is banned, and noise comes in whole blocks.
    if (!dense_ && static_cast<int64_t>(work_.ids.size()) > v_ / 16) {
      int64_t n;
      values(n);
      std::fill(work_.z.begin(), work_.z.end(), kMinusInfinity);
      for (size_t i = 0; i < work_.ids.size(); ++i) z()[work_.ids[i]] = work_.values[i];
      dense_ = true;
    }
    if (dense_) {
      draw_dense(philox);
      return;
    }
    for (const int32_t id : work_.ids) {
      if (z()[id] + kHighestNoise < best_score_) continue;
      philox.words(static_cast<uint32_t>(id) >> 2, 0, words);
      consider(id, words[id & 3]);
    }
  }

  void consider(int32_t id, uint32_t word) {
    const double score = static_cast<double>(z()[id]) + gumbel(word);
    if (score > best_score_ || (score == best_score_ && id < token_)) {
      best_score_ = score;
      token_ = id;
    }
  }

  // An id of a block whose best logit is m wins only if -log(u) <= exp(m - best); as -log(u) >= 1 - u, all words below
  // (1 - exp(m - best)) 2^32 lose without a logarithm. The margin of 1e-9 covers the roundings of this bound.
  void draw_dense(const Philox& p) {
    uint32_t words[kNoiseBlock];
    for (int64_t begin = 0; begin < v_; begin += kNoiseBlock) {
      const int64_t end = std::min(begin + kNoiseBlock, v_);
      float m = kMinusInfinity;
      for (int64_t i = begin; i < end; ++i) m = z()[i] > m ? z()[i] : m;
      if (m + kHighestNoise < best_score_) continue;
      kernels_.philox(p.key0, p.key1, static_cast<uint32_t>(begin / 4), p.choice, p.index, 0, kNoiseBlock / 4, words);
      const double reach = std::exp(m - best_score_) * (1.0 + 1e-9);
      const double lowest = (1.0 - reach) * 0x1p32 - 2.0;
      const uint32_t bound = lowest > 0.0 ? static_cast<uint32_t>(lowest) : 0;
      for (int64_t i = begin; i < end; ++i) {
        if (words[i - begin] >= bound && z()[i] > kMinusInfinity) consider(static_cast<int32_t>(i), words[i - begin]);
      }
    }
  }

  int64_t wanted_logprobs() const { return std::min<int64_t>(i_[kLogprobs], call_.top_logprobs); }

  void write_top(const float* x, double log_sum) {
    sort_descending(x, work_.top);
    const int64_t n = std::min<int64_t>(wanted_logprobs(), static_cast<int64_t>(work_.top.size()));
    for (int64_t j = 0; j < n; ++j) {
      const int32_t id = work_.top[static_cast<size_t>(j)];
      call_.top_ids[row_ * call_.top_logprobs + j] = id;
      call_.top_logprob_values[row_ * call_.top_logprobs + j] = static_cast<float>(static_cast<double>(x[id]) - log_sum);
    }
  }

  void raw_logprobs(float peak) {
    const double log_sum = static_cast<double>(peak) + std::log(kernels_.sum_exp(logits_, v_, peak));
    call_.logprobs[row_] = static_cast<float>(static_cast<double>(logits_[token_]) - log_sum);
    if (wanted_logprobs() <= 0) return;
    gather_top(logits_, v_, wanted_logprobs(), work_.maxima, work_.top);
    write_top(logits_, log_sum);
  }

  // Of the distribution that the draw was made from; for temperature 0, of the penalised logits.
  void processed_logprobs() {
    const double log_sum = static_cast<double>(highest_) + std::log(mass());
    call_.logprobs[row_] = static_cast<float>(static_cast<double>(z()[token_]) - log_sum);
    if (wanted_logprobs() <= 0) return;
    if (dense_) {
      gather_top(z(), v_, wanted_logprobs(), work_.maxima, work_.top);
    } else {
      work_.top = work_.ids;
    }
    write_top(z(), log_sum);
  }

  const SampleCall& call_;
  const int64_t row_, v_;
  const float* logits_;
  const float* f_;
  const int32_t* i_;
  Workspace& work_;
  const RowKernels& kernels_;
  bool dense_ = true;
  float highest_ = 0.0f;   // largest z among the candidates
  int32_t best_id_ = 0;    // its lowest id
  int32_t token_ = 0;
  double best_score_ = 0.0;
};

}  // namespace

void sample(const SampleCall& call, ThreadPool& pool) {
  const RowKernels& kernels = row_kernels();
  pool.run(call.rows, [&](int64_t row, int) {
    thread_local Workspace workspace;
    RowSampler(call, row, workspace, kernels).run();
  });
}

}  // namespace dsi
