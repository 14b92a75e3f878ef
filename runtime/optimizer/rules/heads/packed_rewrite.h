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

// Several nodes that work on heads of one value become one that works on the packed rows.
class PackedRewrite {
 public:
  PackedRewrite(RuleContext& context, Value* base) : context_(context), base_(base) {}

  // A node whose result, heads in the base, comes from `packed`, to be named later.
  void Add(Node* node, PackedHeads heads);
  const std::vector<Node*>& nodes() const { return nodes_; }
  // The columns of all heads.
  std::vector<int64_t> Offsets() const;
  // The heads of each node, as Add was told.
  const std::vector<PackedHeads>& heads() const { return heads_; }

  // True if nothing else reads those columns of the base, so that they can be overwritten:
  // attentions and views that read other columns can as well read them in the result, which is
  // computed from `operands`, too. Otherwise reports it.
  bool IsAlone(absl::Span<Value* const> operands);

  // Puts `packed`, the base with its heads worked on, in the place of all nodes' results, and has
  // the other readers read it. Precondition: IsAlone.
  absl::StatusOr<int> Apply(Patch& patch, Value* packed);

 private:
  bool IsRead(const Value* value, int depth) const;
  // True if the reader reads none of the heads' columns; false also where that is not plain to see.
  bool ReadsOtherColumns(const Node& reader) const;
  bool AreOthers(const View& view) const;
  // True if one of the other readers leads to an operand; true also where that is not soon known.
  bool LeadTo(absl::Span<Value* const> operands) const;

  RuleContext& context_;
  Value* const base_;
  std::vector<Node*> nodes_;
  std::vector<PackedHeads> heads_;
  std::vector<Node*> other_readers_;
};

// Packs all nodes that go together: `find(node)` gives what those of one group have in common, a
// Key, and the node's heads, or nullopt; `pack(key, rewrite)` applies the rewrite of a group, in
// the order in which the groups begin. Returns how many rewrites were applied. A rewrite may take
// away what another group is made of: that one waits for the next round.
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
  // The group as it is now; nullopt if it is no more.
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
