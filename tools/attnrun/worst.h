// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_WORST_H_
#define ATTNRUN_TOOLS_ATTNRUN_WORST_H_

#include <cstddef>
#include <cstdint>
#include <limits>

#include "absl/functional/function_ref.h"

namespace attnrun::cli {

// A function of the index of an element, or of a part of a complex element.
using ByElement = absl::FunctionRef<double(size_t i)>;

// The differences of some elements from the expected ones.
struct Worst {
  double largest = 0;
  double allowed = 0;
  size_t place = 0;
  int64_t beyond = 0;
  // The largest excess of a difference over its allowed value; the element is at `place`.
  double furthest = -std::numeric_limits<double>::infinity();
};

Worst FindWorst(size_t count, ByElement difference, ByElement allowed);

// Adds `piece`, whose elements follow `before` others, to `worst`, which covers those.
void Join(Worst& worst, const Worst& piece, size_t before);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_WORST_H_
