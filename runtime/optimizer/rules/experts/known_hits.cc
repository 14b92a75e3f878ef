// SPDX-License-Identifier: Apache-2.0

// TorchScript unrolls a loop over the experts that some token chose, in as many steps as there were
// at export. Other numbers of them are errors. Where that is all that there can be, they are known:
//
//   chosen [E]                            0   1   ...  E-1
//      |                                  |   |         |
//   NonZero [1, n]             ->
//      |
//   Split in E pieces, n = E
//    |   |  ...   |

#include <cstdint>
#include <vector>

#include "absl/algorithm/container.h"
#include "core/elements.h"
#include "ops/interface/registry.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/reduction.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/experts/expert_routes.h"

namespace attnrun::opt {
namespace {

// True if only the first `count` elements of the vector may be other than 0: it counts, or says if
// there are any of, the places at which numbers below `count` are each of more numbers.
bool OnlyFirst(const Value* vector, int64_t count, Facts& facts) {
  const Node* node = vector->producer();
  if (IsOp(node, "Greater") && ScalarOf(node->input(1)) == 0) node = node->input(0)->producer();
  if (!IsOp(node, "ReduceSum")) return false;
  const std::vector<Traced> trace = Trace(BeforeCasts(node->input(0)), facts);
  const auto reduced = ReducedAxes(*node, facts);
  if (trace.empty() || !reduced.has_value()) return false;
  const auto& [one_hot, view, scale] = trace.back();
  const Node* numbers = ProducerOf(one_hot, "OneHot");
  if (numbers == nullptr || AttributeOr<int64_t>(*numbers, "axis", -1) != -1) return false;
  for (int axis = 0; axis < view.rank(); ++axis) {
    if ((*reduced)[axis]) continue;
    // This axis, the only one that is left, is the numbers'.
    const ViewAxis& kept = view.axes()[axis];
    if (kept.size() != 1 || !kept[0].stride.is_constant(1)) return false;
  }
  return view.offset().is_constant(0) && AreBelow(numbers->input(0), count, facts);
}

bool CountKnownHits(RuleContext& context, Node* split, Patch& patch) {
  Facts& facts = context.facts;
  const auto count = static_cast<int64_t>(split->outputs().size());
  if (absl::c_linear_search(split->outputs(), nullptr)) return false;
  // A view of NonZero's result [1, n] can only have its n elements in their order, on one axis.
  const Node* nonzero = split->input(0)->producer();
  while (nonzero != nullptr && ops::TraitsOf(*nonzero).rearranges) {
    nonzero = nonzero->input(0)->producer();
  }
  if (!IsOp(nonzero, "NonZero") || facts.RankOf(nonzero->input(0)) != 1) return false;
  if (facts.Extent(nonzero->input(0), 0) != count && !OnlyFirst(nonzero->input(0), count, facts)) {
    return false;
  }
  std::vector<Value*> numbers;
  for (int64_t i = 0; i < count; ++i) {
    const auto* dims = facts.DimsOf(split->output(i));
    if (dims == nullptr ||
        absl::c_any_of(*dims, [](const SymInt& dim) { return !dim.is_constant(1); })) {
      return false;
    }
    const std::vector<int64_t> shape(dims->size(), 1);
    numbers.push_back(patch.Constant("hit", FromInts(DataType::kInt64, shape, {i})));
  }
  patch.Supersede({split});
  for (int64_t i = 0; i < count; ++i) patch.Replace(split->output(i), numbers[i]);
  return true;
}

}  // namespace

extern const Rule kKnownHits = {
    .name = "known_hits",
    .summary =
        "The places of all elements of a vector, which a Split takes from NonZero, are counted",
    .anchors = {"Split"},
    .propose = CountKnownHits};

}  // namespace attnrun::opt
