// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_PROJECTION_MERGE_H_
#define ATTNRUN_OPTIMIZER_RULES_PROJECTION_MERGE_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "optimizer/rewrite/patch.h"

namespace attnrun::opt {

// attnrun.Linear nodes of one input become one over the weights side by side:
//
//        x                          x
//      / | \                        |
//    Wq  Wk  Wv          ->      [Wq Wk Wv]
//     |  |   |                      |
//     q  k   v                    Split
//                                 /  |  \  .
//                                q   k   v
//
// x·[Wq Wk Wv] = [x·Wq x·Wk x·Wv] for any weights, widths and order; a bias that one of them lacks
// counts as 0. The Linear has all of them as inputs: nothing is copied before it packs them.
// attnrun.QuantizedLinear nodes of the same integers become one likewise, with a scale and a zero
// point per column, and attnrun.BlockQuantizedLinear nodes of equal blocks.
class LinearMerger {
 public:
  explicit LinearMerger(RuleContext& context) : context_(context) {}

  // True if the node can be merged at all: a plain product with a constant weight. Otherwise `why`
  // says what is in the way.
  static bool CanMerge(const Node& node, std::string& why);

  // Merges the nodes, of which there are at least two, all with the same input, in this order.
  // Returns 0 and reports at `anchor` if a weight also serves others that do not merge alike.
  absl::StatusOr<int> Merge(const std::vector<Node*>& linears, const Node& anchor);

 private:
  bool SharedElsewhere(const std::vector<Node*>& linears, std::string& why) const;

  RuleContext& context_;
  // Weights of merges that were refused: another merge of theirs would be a copy, too.
  absl::flat_hash_set<const Value*> unmerged_;
};

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_PROJECTION_MERGE_H_
