// SPDX-License-Identifier: Apache-2.0

// Code such as y[..., :8] = a; y[..., 8:] = b is exported as one scatter for each assignment. If
// the slices cover all of y, the result is a concatenation:
//
//   ScatterND(ScatterND(y, [places of the first], a), [places of the rest], b)
//     ->  Concat(a, b)
//
// A single slice may be all of y, as where MViT adds to the scores of all but zero class tokens:
//
//   ScatterND(y, [all places], a)  ->  a

#include "absl/algorithm/container.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/scattered_box.h"
#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {
namespace {

// Gives `count` positions of an axis, from `start` on, the elements of `updates`. Without an axis
// all elements are given.
struct Assignment {
  int axis = -1;
  int64_t start = 0;
  int64_t count = 0;
  Value* updates = nullptr;
};

std::optional<Assignment> AssignmentOf(const Node& node, Facts& facts) {
  const auto box = ScatteredBox(node, facts);
  if (!box.has_value() || box->size() > 1) return std::nullopt;
  Assignment assignment;
  assignment.updates = node.input(2);
  for (const AxisPart& part : *box) {
    const auto count = part.count.constant();
    if (!count.has_value()) return std::nullopt;
    assignment.axis = part.axis;
    assignment.start = *part.first.constant();
    assignment.count = *count;
  }
  return assignment;
}

// True if the slices follow each other without gaps from 0 to `extent`.
bool Covers(const std::vector<Assignment>& slices, int64_t extent) {
  int64_t end = 0;
  for (const Assignment& slice : slices) {
    if (slice.start != end) return false;
    end += slice.count;
  }
  return end == extent;
}

// The slices of which the value consists, in their order; none if they do not cover all of it. One
// without an axis stands alone.
std::vector<Assignment> SlicesOf(const Value* value, Facts& facts) {
  constexpr size_t kMost = 16;
  std::vector<Assignment> slices;
  while (const Node* node = ProducerOf(value, "ScatterND")) {
    const auto slice = AssignmentOf(*node, facts);
    if (slice.has_value() && slice->axis < 0 && slices.empty()) return {*slice};
    if (!slice.has_value() || (!slices.empty() && slice->axis != slices[0].axis)) break;
    slices.push_back(*slice);
    absl::c_sort(slices, [](const auto& a, const auto& b) { return a.start < b.start; });
    const auto extent = facts.Extent(node->input(0), slice->axis);
    if (extent.has_value() && Covers(slices, *extent)) return slices;
    if (slices.size() == kMost) break;
    value = node->input(0);
  }
  return {};
}

// The permutation by which all slices are transposed; empty if they have none in common.
std::vector<int64_t> CommonPermutation(const std::vector<Assignment>& slices, Facts& facts) {
  std::vector<int64_t> common;
  for (const Assignment& slice : slices) {
    const Node* node = ProducerOf(slice.updates, "Transpose");
    if (node == nullptr) return {};
    const auto permutation = PermutationOf(*node, facts.RankOf(slice.updates));
    if (!permutation.has_value() || (!common.empty() && *permutation != common)) return {};
    common = *permutation;
  }
  return common;
}

bool JoinAssignedSlices(RuleContext& context, Node* node, Patch& patch) {
  const std::vector<Assignment> slices = SlicesOf(node->output(0), context.facts);
  if (slices.empty()) return false;
  if (slices[0].axis < 0) return patch.Substitute(node, slices[0].updates);
  const std::vector<int64_t> permutation = CommonPermutation(slices, context.facts);
  std::vector<Value*> parts;
  parts.reserve(slices.size());
  for (const Assignment& slice : slices) {
    parts.push_back(permutation.empty() ? slice.updates : slice.updates->producer()->input(0));
  }
  int64_t axis = slices[0].axis;
  if (!permutation.empty()) axis = permutation[axis];
  Value* joined = patch.Op("Concat", parts, {{"axis", axis}}, node->name());
  // One Transpose of the joined slices replaces one for each.
  return patch.Substitute(node, patch.Transpose(joined, permutation));
}

}  // namespace

extern const Rule kSliceAssignments = {.name = "slice_assignments",
                                       .summary = "A tensor assigned slice by slice becomes Concat",
                                       .anchors = {"ScatterND"},
                                       .propose = JoinAssignedSlices};

}  // namespace attnrun::opt
