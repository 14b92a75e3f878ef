// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_GENERATION_RANDOM_H_
#define ATTNRUN_GENERATION_RANDOM_H_

#include <cstdint>

namespace attnrun::gen {

// SplitMix64 (Steele, Lea and Flood 2014): a counter, and a function that mixes its bits. Equal
// seeds and streams give equal numbers on every machine.
class Random {
 public:
  // The streams of one seed are independent.
  Random(uint64_t seed, uint64_t stream) : state_(Mix(seed) + Mix(~stream)) {}

  // Uniform in [0, 1), a multiple of 2^-53.
  double Uniform() {
    state_ += 0x9E3779B97F4A7C15;
    return static_cast<double>(Mix(state_) >> 11) * 0x1p-53;
  }

 private:
  static uint64_t Mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }

  uint64_t state_;
};

}  // namespace attnrun::gen

#endif  // ATTNRUN_GENERATION_RANDOM_H_
