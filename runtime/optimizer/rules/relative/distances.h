// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_RELATIVE_DISTANCES_H_
#define ATTNRUN_OPTIMIZER_RULES_RELATIVE_DISTANCES_H_

#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "optimizer/rewrite/patch.h"

namespace attnrun::opt {

// The axes of queries and keys of a value that, along these two, depends only on the distance t - s
// between a key's position t and a query's position s.
struct PairAxes {
  // The axis of queries, s.
  int queries = 0;
  // The axis of keys, t.
  int keys = 0;
  friend bool operator==(const PairAxes& a, const PairAxes& b) {
    return a.queries == b.queries && a.keys == b.keys;
  }
};

// Relative biases are computed for each pair of a query and a key, S T times, though a pair's value
// depends only on the distance of the two positions. This class finds such values by walking up to
// the difference of positions, and computes them anew on the list of the S + T possible distances
// (attnrun.RelativePositions), once for each distance.
class Distances {
 public:
  explicit Distances(Facts& facts) : facts_(facts) {}

  // The axes of queries and keys; nullopt if the value depends on more than the distance, or if
  // that is not known.
  std::optional<PairAxes> AxesOf(Value* value);

  // The value for each distance: the axis of queries has extent 1, that of keys S + T, in the order
  // of RelativePositions. Precondition: AxesOf finds axes.
  Value* PerDistance(Patch& patch, Value* value);

  // The positions of queries, [..., S, 1], in a difference from which the value is computed; null
  // if there are none. Precondition: AxesOf finds axes.
  Value* QueriesOf(Value* value);

 private:
  // True if the operand has extents [..., S, 1], where the difference has [..., S, T].
  bool IsOnePerQuery(const Value* operand, const Value* difference);
  // True if the node subtracts positions of queries from those of keys, or the reverse: [1, ..., S,
  // T].
  bool IsDifference(const Node& node);
  bool FindDifference(const Node& node);

  std::optional<PairAxes> OfNode(const Node& node);
  std::optional<PairAxes> OfElementwise(const Node& node);
  std::optional<PairAxes> OfGather(const Node& node);
  std::optional<PairAxes> OfTranspose(const Node& node);
  std::optional<PairAxes> OfUnsqueeze(const Node& node);
  std::optional<PairAxes> OfSqueeze(const Node& node);
  // True if an operand repeats along these two axes of a result of `rank` axes.
  bool RepeatsAlong(const Value* input, int rank, const PairAxes& axes);
  // The axes of extent 1 that the node adds or removes, counted in the larger of its two tensors;
  // nullopt if they are not known.
  std::optional<std::vector<int64_t>> NamedAxes(const Node& node, int rank);

  Facts& facts_;
  int depth_ = 0;
  absl::flat_hash_map<const Value*, std::optional<PairAxes>> axes_;
  absl::flat_hash_map<const Node*, bool> differences_;
  absl::flat_hash_map<const Value*, Value*> made_;
};

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_RELATIVE_DISTANCES_H_
