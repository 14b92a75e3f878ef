// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_DIFFERENCE_H_
#define ATTNRUN_TOOLS_ATTNRUN_DIFFERENCE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "attnrun/tensor.h"
#include "tools/attnrun/json_fwd.h"

namespace attnrun::cli {

// The allowed difference from an expected element. With neither set: 1e-4 (float16 2e-3, bfloat16
// 2e-2, 8- and 4-bit floats 0.2) x max(1, largest finite magnitude expected); integers, bools and
// strings must be equal. With either set: atol + rtol x |expected|, the other being 0. NaN equals
// NaN, and an infinity equals itself, with any tolerance.
struct Tolerance {
  std::optional<double> rtol = std::nullopt;
  std::optional<double> atol = std::nullopt;
  // Floats that are computed from values of this type may differ as much as these, with neither
  // set.
  std::optional<DataType> computed_from = std::nullopt;
};

// Says that what is compared from now on may be computed from `value`.
void AddSource(const Tensor& value, Tolerance& tolerance);

// The result of comparing two tensors, or two sequences: then the index of an element begins with
// the number of its tensor.
struct Difference {
  bool ok = false;
  // Set if type or shape differ, in which case no elements are compared: "expected ..., but found
  // ...".
  std::string mismatch;
  // The largest |expected - found|; infinite if only one is NaN or they differ by an infinity.
  double largest = 0;
  // The worst element, which exceeds its allowed difference most, or comes closest to it.
  double allowed = 0;
  Shape index;
  std::string expected;
  std::string found;
  // The number of elements that exceed the allowed difference, and of all elements.
  int64_t beyond = 0;
  int64_t elements = 0;
};

absl::StatusOr<Difference> Compare(const Tensor& expected, const Tensor& found,
                                   const Tolerance& tolerance);

// "largest difference 0.5, allowed 0.0001; 3 of 64 elements exceed it, the worst at [0,3]:
// expected 1, but found 1.5".
std::string Describe(const Difference& difference);

// {"ok","largest_difference","allowed","index","expected","found","beyond","elements"}, with
// "allowed" to "found" for the worst element; or {"ok","mismatch"}. An infinite difference is null.
Json ToJson(const Difference& difference);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_DIFFERENCE_H_
