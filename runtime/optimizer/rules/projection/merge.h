// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_PROJECTION_MERGE_H_
#define ATTNRUN_OPTIMIZER_RULES_PROJECTION_MERGE_H_

#include <string>
#include <vector>

#include "core/hash_map.h"
#include "optimizer/rewrite/patch.h"
#include "optimizer/rules/linear/linear_parts.h"

namespace attnrun::opt {

// Merges attnrun.Linear nodes that share their input into one with the weights side by side, since
// one wide product is faster than several narrow ones:
//
//        x                          x
//      / | \                        |
//    Wq  Wk  Wv          ->      [Wq Wk Wv]
//     |  |   |                      |
//     q  k   v                    Split
//                                 /  |  \  .
//                                q   k   v
//
// x·[Wq Wk Wv] = [x·Wq x·Wk x·Wv] for any weights, widths and order; a missing bias counts as 0.
// The merged Linear has all weights as inputs, so that none is copied before it packs them. Weights
// of 8 bits merge if the bytes of x have one scale and zero point, those of n bits if their blocks
// are equal.
class LinearMerger {
 public:
  explicit LinearMerger(RuleContext& context) : context_(context) {}

  // True if the node can be merged: it is a plain product with a constant weight. Otherwise `why`
  // gives the reason.
  static bool CanMerge(const Node& node, std::string& why);

  // Merges at least two nodes with the same input, in this order. Returns false, and reports at
  // `anchor`, if a weight is also used by nodes that do not merge in the same way.
  bool Merge(const std::vector<Node*>& linears, const Node& anchor, Patch& patch);

 private:
  bool SharedElsewhere(const std::vector<Node*>& linears,
                       const std::vector<LinearWeightParts>& weights, std::string& why) const;

  RuleContext& context_;
  // Weights of merges that were refused. Merging them elsewhere would need a copy of them.
  HashSet<const Value*> unmerged_;
};

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_PROJECTION_MERGE_H_
