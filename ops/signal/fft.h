// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_SIGNAL_FFT_H_
#define ATTNRUN_OPS_SIGNAL_FFT_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/hash_map.h"

// Fast Fourier transforms of many lines at once, for kernels: each lane of a vector holds a line,
// so that lines do not depend on each other. Number j of FftLanes() lines is a row of real parts
// and a row of imaginary parts, at 2 * j and 2 * j + 1 times FftLanes() floats.
namespace attnrun::ops {

int64_t FftLanes();

// The tables of one length. Transforms split off prime factors, and pairs of two as four
// (Stockham's order of Cooley and Tukey's algorithm); a large prime factor costs its square.
class FftPlan {
 public:
  FftPlan(int64_t length, bool inverse);

  struct Stage {
    int64_t radix;
    // The products of the radices that follow, and of those before.
    int64_t after;
    int64_t before;
    // Where its exp(-+ 2 pi i t k / (after * radix)) begin, for t < after and 0 < k < radix, and
    // the exp(-+ 2 pi i k / radix) of an odd radix, k < radix.
    int64_t twiddles;
    int64_t roots;
  };

  int64_t length() const { return length_; }
  bool inverse() const { return inverse_; }
  const std::vector<Stage>& stages() const { return stages_; }
  // Pairs of real and imaginary parts.
  const float* pairs(int64_t index) const { return pairs_.data() + 2 * index; }
  // exp(- pi i k / length) for k <= length, at `halves()`.
  int64_t halves() const { return halves_; }

  // Transforms `x`, without the inverse's factor. `x` and `work` hold `length` numbers of each
  // line; returns the one of the two that holds the result.
  float* Run(float* x, float* work) const;

  // For lines of 2 * length real numbers, whose pairs were transformed as complex numbers `z`:
  // writes the first length + 1 frequencies.
  void SplitReal(const float* z, float* frequencies) const;

 private:
  // Adds exp(turns * 2 pi i / count).
  void AddRoot(int64_t turns, int64_t count);

  const int64_t length_;
  const bool inverse_;
  std::vector<Stage> stages_;
  std::vector<float> pairs_;
  int64_t halves_ = 0;
};

// The plans of one node's calls, a bounded number. Safe to call from many threads.
class FftPlans {
 public:
  std::shared_ptr<const FftPlan> Get(int64_t length, bool inverse) const;

 private:
  mutable std::mutex mutex_;
  mutable HashMap<std::pair<int64_t, bool>, std::shared_ptr<const FftPlan>> plans_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_SIGNAL_FFT_H_
