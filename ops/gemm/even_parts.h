// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_EVEN_PARTS_H_
#define ATTNRUN_OPS_GEMM_EVEN_PARTS_H_

#include <algorithm>
#include <cstdint>

#include "core/div_ceil.h"

namespace attnrun::ops {

// Splits `total` into `count` parts as even as possible: the first `longer` parts are one longer
// than `shortest`. Divides once, since a division takes as long as some steps of a product.
struct EvenParts {
  EvenParts(int64_t total, int64_t count) : shortest(total / count), longer(total % count) {}

  // The length of a part, and the index where it begins.
  int64_t operator[](int64_t part) const { return shortest + (part < longer ? 1 : 0); }
  int64_t Begin(int64_t part) const { return part * shortest + std::min(part, longer); }

  int64_t shortest;
  int64_t longer;
};

// Splits K into `count` blocks about as even, which begin at multiples of 16, so that none begins
// within a word of n-bit codes. The bits of sums depend on where their blocks of K end, so
// everything that cuts K uses this.
struct DepthParts {
  DepthParts(int64_t depth_of_all, int64_t count)
      : units(DivCeil(depth_of_all, kUnit), count), depth(depth_of_all) {}

  int64_t operator[](int64_t part) const { return Begin(part + 1) - Begin(part); }
  int64_t Begin(int64_t part) const { return std::min(units.Begin(part) * kUnit, depth); }

  static constexpr int64_t kUnit = 16;
  EvenParts units;
  int64_t depth;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_EVEN_PARTS_H_
