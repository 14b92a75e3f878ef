// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_ATTENTION_WAYS_H_
#define ATTNRUN_OPTIMIZER_RULES_ATTENTION_WAYS_H_

#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "optimizer/analysis/view.h"
#include "optimizer/rewrite/patch.h"

namespace attnrun::opt {

// A node that computes a value but for views and factors of one number behind it.
struct Source {
  Node* node = nullptr;
  // The views and factors, the last one first.
  std::vector<Node*> way = {};
  // The product of the factors.
  double factor = 1;
  // The elements of the node's result as they lie in the value.
  View view = {};

  // The node and the way.
  std::vector<Node*> nodes() const;
};

// Walks up from a value to the first node that is a source. Each value on the way, and the one that
// it begins at, must have one reader. nullopt if something else is in between.
std::optional<Source> FindSource(Value* value, RuleContext& context,
                                 absl::FunctionRef<bool(const Node&)> is_source);

// The operand that a node of a way passes on; null for other nodes. Multiplies `factor` by the
// node's.
Value* PassedOperand(const Node& node, double& factor);

// The value in place of what the source computes, with what follows it on the way.
Value* Repeated(const Source& source, Value* value, Patch& patch);

// True for a product of two computed values.
bool IsMatMulOfComputed(const Node& node);

// The same, but keys and values may also be learned heads. A constant of two axes is a weight.
bool IsMatMulOfHeads(const Node& node);

// True if every reader of the value leads to a Softmax through operators that the attention rule
// accepts.
bool LeadsToSoftmax(const Value& scores);

// The axes of a product's operand or result before its rows and columns.
std::vector<ViewAxis> BatchAxes(const View& matrices);

// Values of one rank, concatenated along an axis of theirs, counted from the last as 1. They
// broadcast to each other along all others. Extents that are not numbers are read off `like`. Null
// if one of them is null or if the extents are not known.
Value* JoinedParts(const std::vector<Value*>& parts, int from_last, absl::Span<Value* const> like,
                   Patch& patch);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_ATTENTION_WAYS_H_
