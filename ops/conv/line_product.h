// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONV_LINE_PRODUCT_H_
#define ATTNRUN_OPS_CONV_LINE_PRODUCT_H_

#include <cstdint>

#include "absl/types/span.h"

// Products of a few features with vectors of positions, for convolutions whose channels come first.
namespace attnrun::ops {

// y[feature, position] = sum over terms k of w[feature, k] * x[offsets[k] + position] + bias.
struct LineProduct {
  // May be read up to kLineSlack floats beyond the last position.
  const float* x;
  // By term; cut into `blocks` parts, as even as possible, whose sums are added one by one.
  absl::Span<const int64_t> offsets;
  int64_t blocks;
  // Written by PackFeatures.
  const float* w;
  int64_t features;
  int64_t positions;
  // [features], or null.
  const float* bias;
  // [features, positions], `ldy` floats between features.
  float* y;
  int64_t ldy;
};

constexpr int64_t kLineSlack = 128;

// Each element's bits depend only on its feature and its elements of x.
void MultiplyLine(const LineProduct& product);

// Packs w [features, terms] for MultiplyLine: as many floats.
void PackFeatures(const float* w, int64_t features, int64_t terms, float* packed);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONV_LINE_PRODUCT_H_
