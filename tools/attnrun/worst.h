// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TOOLS_ATTNRUN_WORST_H_
#define ATTNRUN_TOOLS_ATTNRUN_WORST_H_

#include <cstddef>
#include <cstdint>
#include <limits>

#include "absl/functional/function_ref.h"

namespace attnrun::cli {

// A function of the number of an element, or of a part of a complex element.
using ByElement = absl::FunctionRef<double(size_t i)>;

// How far some elements are from what is expected.
struct Worst {
  double largest = 0;
  double allowed = 0;
  size_t place = 0;
  int64_t beyond = 0;
  // The most by which an element is beyond what is allowed, at `place`.
  double furthest = -std::numeric_limits<double>::infinity();
};

Worst FindWorst(size_t count, ByElement difference, ByElement allowed);

// `piece`, whose elements come after `before` others, joined with what is known of those.
void Join(Worst& worst, const Worst& piece, size_t before);

}  // namespace attnrun::cli

#endif  // ATTNRUN_TOOLS_ATTNRUN_WORST_H_
