// SPDX-License-Identifier: Apache-2.0
#include "ops/signal/fourier.h"

#include <cmath>
#include <numbers>
#include <vector>

namespace attnrun::ops {
namespace {

int64_t SmallestFactor(int64_t n) {
  for (int64_t factor = 2; factor <= n / factor; ++factor) {
    if (n % factor == 0) return factor;
  }
  return n;
}

}  // namespace

FourierTransform::FourierTransform(absl::Span<Complex> roots, bool inverse) : roots_(roots) {
  const double turn = (inverse ? 2 : -2) * std::numbers::pi / static_cast<double>(roots.size());
  for (size_t k = 0; k < roots.size(); ++k)
    roots[k] = std::polar(1.0, turn * static_cast<double>(k));
}

void FourierTransform::Run(const Complex* from, Complex* to) const {
  Run(from, 1, static_cast<int64_t>(roots_.size()), to);
}

void FourierTransform::Run(const Complex* from, int64_t step, int64_t length, Complex* to) const {
  if (length == 1) {
    *to = *from;
    return;
  }
  // Part r holds every `factor`-th element from r on; its transform is to[r * part + k].
  const int64_t factor = SmallestFactor(length);
  const int64_t part = length / factor;
  for (int64_t r = 0; r < factor; ++r) {
    Run(from + r * step, step * factor, part, to + r * part);
  }
  // The roots for `length` are every `step`-th of the table.
  std::vector<Complex> sums(factor);
  for (int64_t k = 0; k < part; ++k) {
    for (int64_t q = 0; q < factor; ++q) {
      const int64_t frequency = k + q * part;
      sums[q] = 0;
      for (int64_t r = 0; r < factor; ++r) {
        sums[q] += to[r * part + k] * roots_[r * frequency % length * step];
      }
    }
    for (int64_t q = 0; q < factor; ++q) to[k + q * part] = sums[q];
  }
}

}  // namespace attnrun::ops
