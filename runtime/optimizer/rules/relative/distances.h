// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_RELATIVE_DISTANCES_H_
#define ATTNRUN_OPTIMIZER_RULES_RELATIVE_DISTANCES_H_

#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "optimizer/rewrite/patch.h"

namespace attnrun::opt {

// The axes of a value that depends, along them, on t - s alone.
struct PairAxes {
  // s.
  int queries = 0;
  // t.
  int keys = 0;
  friend bool operator==(const PairAxes& a, const PairAxes& b) {
    return a.queries == b.queries && a.keys == b.keys;
  }
};

// Finds what is computed of the distances between positions [S, T] and of nothing else that differs
// along these axes, and computes it once per distance.
class Distances {
 public:
  explicit Distances(Facts& facts) : facts_(facts) {}

  // nullopt if the value depends on more, or if that is not plain to see.
  std::optional<PairAxes> AxesOf(Value* value);

  // The value with 1 for S and, as RelativePositions has them, S + T for T. Precondition: AxesOf.
  Value* PerDistance(Patch& patch, Value* value);

  // A value [..., S, 1] that some difference is computed of; null if there is none. Precondition:
  // AxesOf.
  Value* QueriesOf(Value* value);

 private:
  // True if the operand of a difference [..., S, T] is [..., S, 1].
  bool IsOnePerQuery(const Value* operand, const Value* difference);
  // Positions of keys less those of queries, or the reverse: [1, ..., S, T].
  bool IsDifference(const Node& node);
  bool FindDifference(const Node& node);

  std::optional<PairAxes> OfNode(const Node& node);
  std::optional<PairAxes> OfElementwise(const Node& node);
  std::optional<PairAxes> OfGather(const Node& node);
  std::optional<PairAxes> OfTranspose(const Node& node);
  std::optional<PairAxes> OfUnsqueeze(const Node& node);
  std::optional<PairAxes> OfSqueeze(const Node& node);
  // True if an operand of a result of `rank` axes repeats along these two.
  bool RepeatsAlong(const Value* input, int rank, const PairAxes& axes);
  // Which axes of extent 1 the node names, counted in the larger of its two tensors; nullopt if
  // that is not known.
  std::optional<std::vector<int64_t>> NamedAxes(const Node& node, int rank);

  Facts& facts_;
  int depth_ = 0;
  absl::flat_hash_map<const Value*, std::optional<PairAxes>> axes_;
  absl::flat_hash_map<const Node*, bool> differences_;
  absl::flat_hash_map<const Value*, Value*> made_;
};

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_RELATIVE_DISTANCES_H_
