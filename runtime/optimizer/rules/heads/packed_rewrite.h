// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_HEADS_PACKED_REWRITE_H_
#define ATTNRUN_OPTIMIZER_RULES_HEADS_PACKED_REWRITE_H_

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "core/status.h"
#include "optimizer/rewrite/context.h"
#include "optimizer/rules/heads/packed_heads.h"

namespace attnrun::opt {

// Replaces several nodes that each work on some heads of one value (norms or rotations of Q and of
// K) by one node that works on the packed rows. All readers of the rows then read its result.
class PackedRewrite {
 public:
  PackedRewrite(RuleContext& context, Value* base) : context_(context), base_(base) {}

  // Adds a node of the group and the heads in the base that it works on.
  void Add(Node* node, PackedHeads heads);
  const std::vector<Node*>& nodes() const { return nodes_; }
  // The columns in which the heads of all nodes begin.
  std::vector<int64_t> Offsets() const;
  // The heads of each node, in the order of nodes().
  const std::vector<PackedHeads>& heads() const { return heads_; }

  // True if no other node needs these columns of the base as they are, so that they can be
  // overwritten. Attentions and views that read other columns can read them in the result as well,
  // unless they lead to `operands`, from which the result is computed. Reports a near miss if
  // false.
  bool IsAlone(absl::Span<Value* const> operands);

  // Takes the results of all nodes from `packed`, the base after the work on its heads, and makes
  // the other readers of the base read `packed`. Precondition: IsAlone.
  absl::StatusOr<int> Apply(Patch& patch, Value* packed);

 private:
  bool IsRead(const Value* value, int depth) const;
  // True if the reader reads none of the heads' columns; false also if that is not known.
  bool ReadsOtherColumns(const Node& reader) const;
  bool AreOthers(const View& view) const;
  // True if one of the other readers leads to an operand; true also if the search gives up.
  bool LeadTo(absl::Span<Value* const> operands) const;

  RuleContext& context_;
  Value* const base_;
  std::vector<Node*> nodes_;
  std::vector<PackedHeads> heads_;
  std::vector<Node*> other_readers_;
};

// Packs all groups of nodes. `find(node)` returns a Key, which is equal for the nodes of a group,
// and the node's heads, or nullopt. `pack(key, rewrite)` applies the rewrite of one group; groups
// come in the order of their first nodes. Returns the number of rewrites applied. A group whose
// nodes another rewrite has removed waits for the next round.
template <typename Key, typename Find, typename Pack>
absl::StatusOr<int> PackGroups(RuleContext& context, Find find, Pack pack) {
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<Node*> order, context.graph.TopologicalOrder());
  std::vector<Key> keys;
  std::map<Key, std::vector<Node*>> groups;
  for (Node* node : order) {
    std::optional<std::pair<Key, PackedHeads>> found = find(node);
    if (!found.has_value()) continue;
    const auto [group, added] = groups.try_emplace(found->first);
    if (added) keys.push_back(found->first);
    group->second.push_back(node);
  }
  absl::flat_hash_set<Node*> alive(order.begin(), order.end());
  // The group in its present state; nullopt if a node is gone or has changed.
  const auto rewrite_of = [&](const Key& key) {
    std::optional<PackedRewrite> rewrite;
    for (Node* node : groups.at(key)) {
      auto found = alive.contains(node) ? find(node) : std::nullopt;
      if (!found.has_value() || found->first != key) return std::optional<PackedRewrite>();
      if (!rewrite.has_value()) rewrite.emplace(context, found->second.base);
      rewrite->Add(node, std::move(found->second));
    }
    return rewrite;
  };
  int packed = 0;
  for (const Key& key : keys) {
    std::optional<PackedRewrite> rewrite = rewrite_of(key);
    if (!rewrite.has_value()) continue;
    ATTNRUN_ASSIGN_OR_RETURN(const int applied, pack(key, *rewrite));
    if (applied == 0) continue;
    packed += applied;
    const std::vector<Node*> nodes = context.graph.nodes();
    alive = {nodes.begin(), nodes.end()};
  }
  return packed;
}

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_HEADS_PACKED_REWRITE_H_
