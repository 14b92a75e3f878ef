#include "optimizer/canonicalize/views.h"

#include "core/status.h"
#include "optimizer/patch.h"
#include "optimizer/reshape.h"
#include "optimizer/trace.h"

namespace attnrun {
namespace {

// The permutation of the base's axes that the view is, if it is one.
std::optional<std::vector<int64_t>> AsPermutation(const View& base, const View& view) {
  if (view.rank() != base.rank() || !(view.offset() == base.offset())) return std::nullopt;
  std::vector<int64_t> permutation;
  std::vector<bool> used(base.rank(), false);
  for (const ViewAxis& axis : view.axes()) {
    int found = 0;
    while (found < base.rank() && (used[found] || base.axes()[found] != axis)) ++found;
    if (found == base.rank()) return std::nullopt;
    used[found] = true;
    permutation.push_back(found);
  }
  return permutation;
}

// The value as `traced` has it, by at most one node; null if it takes more.
Value* Simplest(Patch& patch, Facts& facts, const Traced& traced) {
  const std::vector<SymInt>& dims = *facts.DimsOf(traced.base);
  const View base = View::Dense(dims);
  if (base == traced.view) return traced.base;
  if (const auto permutation = AsPermutation(base, traced.view)) {
    return patch.Op("Transpose", {traced.base}, {{"perm", *permutation}});
  }
  const std::vector<SymInt> to = traced.view.Dims();
  if (base.Reshaped(to) == traced.view) {
    if (const auto target = ReshapeTarget(dims, to)) {
      return patch.Op("Reshape", {traced.base, patch.Ints(*target)});
    }
  }
  return nullptr;
}

// Whether the node reads indices that are not needed where it comes to a mere Reshape.
bool ReadsIndices(const Node& node) {
  return node.op_type() == "GatherND" ||
         (node.op_type() == "Gather" && !node.input(1)->is_constant());
}

// Furthest first. A chain of one node is only worth touching if it comes to nothing, or to
// something simpler.
absl::StatusOr<int> SimplifyChain(PassContext& context, Value* value) {
  const std::vector<Traced> chain = Trace(value, context.facts);
  for (size_t i = chain.size(); i-- > 1;) {
    Patch patch(context);
    Value* simplest = Simplest(patch, context.facts, chain[i]);
    if (simplest == nullptr) continue;
    const Node& node = *value->producer();
    if (simplest != chain[i].base && chain[i].base == node.input(0) && !ReadsIndices(node)) {
      continue;
    }
    patch.Replace(value, simplest);
    return patch.Apply();
  }
  return 0;
}

}  // namespace

absl::StatusOr<int> SimplifyViews(PassContext& context) {
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<Node*> order, context.graph.TopologicalOrder());
  int simplified = 0;
  for (Node* node : order) {
    if (!IsViewNode(*node) && node->op_type() != "Concat") continue;
    for (Value* value : node->outputs()) {
      if (value == nullptr) continue;
      if (value->consumers().empty() && !context.graph.IsOutput(value)) continue;
      ATTNRUN_ASSIGN_OR_RETURN(const int applied, SimplifyChain(context, value));
      simplified += applied;
    }
  }
  return simplified;
}

}  // namespace attnrun
