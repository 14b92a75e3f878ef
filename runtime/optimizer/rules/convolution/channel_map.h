// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_CONVOLUTION_CHANNEL_MAP_H_
#define ATTNRUN_OPTIMIZER_RULES_CONVOLUTION_CHANNEL_MAP_H_

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "optimizer/analysis/facts.h"

namespace attnrun::opt {

// y = scale[c] * x + shift[c] for each channel c, a position of axis 1.
struct ChannelMap {
  Value* x = nullptr;
  std::vector<double> scale;
  std::vector<double> shift;

  // True if a shift is not 0; if no scale differs from 1.
  bool shifts() const;
  bool only_shifts() const;
};

// The maps that the node may be read as, which keep the shape of x: a BatchNormalization outside of
// training, or a sum, difference, product or quotient with a constant that is one number or has one
// for each of the `channels`. None for other nodes and null.
std::vector<ChannelMap> ChannelMapsOf(const Node* node, int64_t channels, Facts& facts);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_CONVOLUTION_CHANNEL_MAP_H_
