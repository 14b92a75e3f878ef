// SPDX-License-Identifier: Apache-2.0

// PyTorch counts axes from the last one when it pads, ONNX from the first; exporters reorder the
// list of pads by way of a matrix. One Gather does the same:
//
//   Reshape(Transpose(Slice(Reshape(list [4], [-1, 2]), rows backwards)), [-1])
//     ->  Gather(list, [2, 0, 3, 1])
//
// The contents of the list, which later rules need, then stay known.

#include <numeric>

#include "absl/algorithm/container.h"
#include "core/elements.h"
#include "ops/composite/run_node.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {
namespace {

// The length of a list of integers if it is short in every run.
std::optional<int64_t> ShortLength(const Value* value, Facts& facts) {
  constexpr int64_t kLongest = 64;
  if (facts.RankOf(value) != 1 || !IsInteger(facts.TypeOf(value))) return std::nullopt;
  const auto length = facts.Extent(value, 0);
  return length.has_value() && *length <= kLongest ? length : std::nullopt;
}

// True if the node only moves elements, and moves them alike in every run.
bool MovesAlike(const Node& node) {
  return MovesElements(node) && node.outputs().size() == 1 &&
         absl::c_all_of(absl::MakeSpan(node.inputs()).subspan(1), [](const Value* operand) {
           return operand == nullptr || operand->is_constant();
         });
}

// The order into which the nodes, the last one first, bring a list of `length` elements.
std::optional<std::vector<int64_t>> OrderBy(absl::Span<const Node* const> nodes, int64_t length) {
  std::vector<int64_t> order(length);
  std::iota(order.begin(), order.end(), 0);
  absl::StatusOr<Tensor> moved = Tensor::Of<int64_t>({length}, order);
  for (size_t i = nodes.size(); i-- > 0;) {
    std::vector<Tensor> inputs = {*std::move(moved)};
    for (const Value* operand : absl::MakeSpan(nodes[i]->inputs()).subspan(1)) {
      inputs.push_back(operand == nullptr ? Tensor() : *operand->constant());
    }
    absl::StatusOr<std::vector<Tensor>> outputs =
        ops::RunReference(*nodes[i], inputs, Allocator::Heap());
    if (!outputs.ok()) return std::nullopt;
    moved = std::move((*outputs)[0]);
  }
  const auto elements = ToInts(*moved);
  if (!elements.ok()) return std::nullopt;
  return std::vector<int64_t>(elements->begin(), elements->end());
}

bool GatherShuffledLists(RuleContext& context, Node* node, Patch& patch) {
  Facts& facts = context.facts;
  if (!MovesElements(*node) || !ShortLength(node->output(0), facts).has_value()) return false;
  constexpr size_t kMostNodes = 8;
  std::vector<const Node*> nodes;
  Value* list = node->output(0);
  do {
    const Node* mover = list->producer();
    if (mover == nullptr || nodes.size() == kMostNodes || !MovesAlike(*mover)) return false;
    nodes.push_back(mover);
    list = mover->input(0);
  } while (facts.RankOf(list) != 1);
  const auto length = ShortLength(list, facts);
  if (nodes.size() == 1 || !length.has_value()) return false;
  const auto order = OrderBy(nodes, *length);
  if (!order.has_value()) return false;
  return patch.Substitute(node, "Gather", {list, patch.Ints(*order)});
}

}  // namespace

extern const Rule kShuffledLists = {
    .name = "shuffled_lists",
    .summary = "A short list reordered through a matrix becomes one Gather",
    .propose = GatherShuffledLists};

}  // namespace attnrun::opt
