// SPDX-License-Identifier: Apache-2.0

// PyTorch's x[mask] = c is exported as a scatter to the list of the mask's true places. It becomes
// a Where, which needs no list:
//
//   ScatterND(x, Transpose(NonZero(mask)), Expand(c, [how many places mask has]))
//     ->  Where(mask, c, x)
//
// A ConstantOfShape of c may take the place of the Expand.

#include "ops/interface/registry.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/pattern.h"
#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {
namespace {

// True if the value has the elements of `mask`, in some order, each once.
bool HasElementsOf(Value* value, const Value* mask, Facts& facts) {
  for (int step = 0; value != mask; ++step) {
    const Node* node = value->producer();
    constexpr int kMaxSteps = 4;
    if (step == kMaxSteps || node == nullptr || facts.DimsOf(value) == nullptr) return false;
    if (!ops::TraitsOf(*node).rearranges) return false;
    value = node->input(0);
  }
  return true;
}

// True if the value is the number of elements of `mask` that are true.
bool Counts(Value* value, const Value* mask, Facts& facts) {
  Value* counted = nullptr;
  Node* sum = nullptr;
  Node* cast = nullptr;
  MatchedNodes nodes;
  const Pattern count = Op("ReduceSum", {Op("Cast", {Is(&counted)}, &cast), Rest()}, &sum);
  if (!count.Match(value, facts, nodes) || !HasElementsOf(counted, mask, facts)) return false;
  if (facts.TypeOf(cast->output(0)) != DataType::kInt64) return false;
  // The sum must be over all axes. An absent list of axes means all, unless it is defined to mean
  // none.
  const auto axes = KnownInts(*sum, "axes", 1, facts);
  const bool all = sum->input(1) == nullptr && sum->attribute("axes") == nullptr &&
                   AttributeOr<int64_t>(*sum, "noop_with_empty_axes", 0) == 0;
  const int rank = facts.RankOf(counted);
  return all || (rank == 1 && axes.has_value() && axes->size() == 1);
}

bool ChooseByMasks(RuleContext& context, Node* node, Patch& patch) {
  Facts& facts = context.facts;
  Value* x = nullptr;
  Value* mask = nullptr;
  Value* number = nullptr;
  Value* count = nullptr;
  Node* transposed = nullptr;
  const Pattern places = Op("Transpose", {Op("NonZero", {Is(&mask)})}, &transposed);
  Node* updates = nullptr;
  const Pattern numbers = OneOf({Op("Expand", {Constant(&number), Is(&count)}, &updates),
                                 Op("ConstantOfShape", {Is(&count)}, &updates)});
  const Pattern filled = Op("ScatterND", {Is(&x), places, numbers});

  MatchedNodes nodes;
  if (!filled.Match(node->output(0), facts, nodes)) return false;
  if (AttributeOr<std::string>(*node, "reduction", "none") != "none") return false;
  const auto swap = AttributeOr<std::vector<int64_t>>(*transposed, "perm", {1, 0});
  if (swap != std::vector<int64_t>{1, 0} || facts.TypeOf(mask) != DataType::kBool) return false;
  const std::vector<SymInt>* dims = facts.DimsOf(x);
  const std::vector<SymInt>* masked = facts.DimsOf(mask);
  if (dims == nullptr || masked == nullptr || *dims != *masked) return false;
  if (number != nullptr && (!ScalarOf(number).has_value() || number->constant()->rank() > 1))
    return false;
  // A run with any other number of updates fails, and must still do so.
  if (dims->empty() || !Counts(count, mask, facts)) return false;
  const auto repeated = number != nullptr ? number->constant()->Reshaped({}) : FillingOf(*updates);
  Value* filling = patch.Constant("filling", repeated);
  return patch.Substitute(node, "Where", {mask, filling, x});
}

}  // namespace

extern const Rule kMaskedFill = {
    .name = "masked_fill",
    .summary = "A number scattered to the places of a mask becomes Where",
    .anchors = {"ScatterND"},
    .propose = ChooseByMasks};

}  // namespace attnrun::opt
