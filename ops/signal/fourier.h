// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_SIGNAL_FOURIER_H_
#define ATTNRUN_OPS_SIGNAL_FOURIER_H_

#include <complex>
#include <cstdint>

#include "absl/types/span.h"

namespace attnrun::ops {

// Discrete Fourier transforms of one length, in double, by splitting off prime factors (Cooley and
// Tukey 1965). A large prime factor costs its square.
class FourierTransform {
 public:
  using Complex = std::complex<double>;

  // `roots`, scratch space for `length` numbers that must outlive this, is filled with exp(-2 pi i
  // k / length), or with exp(2 pi i k / length) for the inverse.
  FourierTransform(absl::Span<Complex> roots, bool inverse);

  // to[k] = sum over n of from[n] exp(-+ 2 pi i n k / length), without the inverse's factor 1 /
  // length. Both hold `length` numbers and must not overlap.
  void Run(const Complex* from, Complex* to) const;

 private:
  // The transform of the `length` numbers from[0], from[step], ...
  void Run(const Complex* from, int64_t step, int64_t length, Complex* to) const;

  absl::Span<const Complex> roots_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_SIGNAL_FOURIER_H_
