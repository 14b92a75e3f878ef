// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_HEADS_PACKED_REWRITE_H_
#define ATTNRUN_OPTIMIZER_RULES_HEADS_PACKED_REWRITE_H_

#include <vector>

#include "optimizer/analysis/view.h"
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
  void Write(Patch& patch, Value* packed);

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

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_HEADS_PACKED_REWRITE_H_
