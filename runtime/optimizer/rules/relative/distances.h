// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_RELATIVE_DISTANCES_H_
#define ATTNRUN_OPTIMIZER_RULES_RELATIVE_DISTANCES_H_

#include <optional>
#include <vector>

#include "core/hash_map.h"
#include "optimizer/rewrite/patch.h"

namespace attnrun::opt {

// The axes of queries, s, and of keys, t, of a value that has an element for each pair of them.
struct PairAxes {
  int queries = 0;
  int keys = 0;
  friend bool operator==(const PairAxes& a, const PairAxes& b) {
    return a.queries == b.queries && a.keys == b.keys;
  }
};

// Relative biases are computed for each pair of a query and a key, S T times, though a pair's value
// depends only on the distance t - s of the two positions. This class finds such values by walking
// up to the difference of positions, and computes them anew on the list of the S + T possible
// distances (attnrun.RelativePositions), once for each distance.
class Distances {
 public:
  explicit Distances(Facts& facts) : facts_(facts) {}

  // True if the value depends, along these axes, on nothing but the distance.
  bool AreAllThatCounts(Value* value, const PairAxes& axes);

  // The value for each distance: the axis of queries has extent 1, that of keys S + T, in the order
  // of RelativePositions. Precondition: AreAllThatCounts.
  Value* PerDistance(Patch& patch, Value* value);

  // The positions of queries, [..., S, 1], in a difference from which the value is computed; null
  // if there are none. Precondition: AreAllThatCounts.
  Value* QueriesOf(Value* value);

 private:
  // True if the operand has extents [..., S, 1], where the difference has [..., S, T].
  bool IsOnePerQuery(const Value* operand, const Value* difference);
  // True if the node subtracts positions of queries from those of keys, or the reverse: [1, ..., S,
  // T].
  bool IsDifference(const Node& node);
  bool FindDifference(const Node& node);
  // Finds the inputs of the value's producer that have both axes; false if one has only one of
  // them, or depends on more than the distance.
  bool FindPairs(const Value& value, const PairAxes& axes);

  Facts& facts_;
  int depth_ = 0;
  // The axes of values that depend on the distance; nullopt for others.
  HashMap<const Value*, std::optional<PairAxes>> axes_;
  // The inputs of their producers that do.
  HashMap<const Node*, std::vector<size_t>> pairs_;
  HashMap<const Node*, bool> differences_;
  HashMap<const Value*, Value*> made_;
};

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_RELATIVE_DISTANCES_H_
