// SPDX-License-Identifier: Apache-2.0

// A model may add a bias to a part of its scores alone, and write the sums in their places. MViT
// does so for all positions but that of its class token:
//
//   scores [.., S, T]                     scores [.., S, T]   bias [.., S - 1, T - 1]
//     |       |                                |                |
//     |     Slice   bias                       |               Pad by zeros
//     |        \    /              ->           \              /
//     |         Add                                   Add
//     |          |                                     |
//     ScatterND (to the places of the Slice)        Softmax
//          |
//       Softmax
//
// Views may stand before and behind the Add, as where the bias is one of rows and one of columns of
// an image. Dynamo's exporter writes one ScatterND for each axis of the part, one inside the other.
//
// A part that is set to one number, which masks, becomes a Where:
//
//   ScatterND(scores, [places of the part], -inf)  ->  Where(Pad(true), -inf, scores)

#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "core/elements.h"
#include "ops/interface/registry.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/product_search.h"
#include "optimizer/analysis/scattered_box.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/axis_map.h"
#include "optimizer/rewrite/reshape.h"
#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {
namespace {

constexpr int kMaxSumSteps = 24;

// An operand that was added, or subtracted, where the elements of the part lie as in `at`. If
// `number` is set, it is a mask, or the inverse of one, by which elements became this number.
struct RegionTerm {
  Value* value = nullptr;
  bool negative = false;
  View at;
  std::optional<double> number = {};
};

// A value as elements of a base, to which terms were added.
struct RegionSum {
  const Traced* whole = nullptr;
  View view;
  // The elements behind the last node that chose some, which are the part. The axes of a view of
  // the base cannot be split where a part of them is left out.
  View of_part;
  std::vector<RegionTerm> terms;
};

// Walks from the updates of a ScatterND up to a value from which its data comes, too.
class SumWalk {
 public:
  SumWalk(absl::Span<const Traced> data, Facts& facts) : data_(data), facts_(facts) {}

  std::optional<RegionSum> Find(Value* value, int steps) {
    const auto base = absl::c_find_if(data_, [&](const Traced& t) { return t.base == value; });
    const std::vector<SymInt>* dims = facts_.DimsOf(value);
    if (dims == nullptr) return std::nullopt;
    if (base != data_.end()) return RegionSum{&*base, View::Dense(*dims), View::Dense(*dims), {}};
    const Node* node = value->producer();
    // Both operands of a sum are tried, so the number of visits must be limited.
    if (node == nullptr || steps == 0 || --visits_left_ < 0) return std::nullopt;
    if (MovesElements(*node)) return Moved(*node, *value, steps);
    if (!SumsOf(node).empty()) return Added(*node, *dims, steps);
    return IsOp(node, "Where") ? Masked(*node, *dims, steps) : std::nullopt;
  }

 private:
  std::optional<RegionSum> Moved(const Node& node, const Value& value, int steps) {
    auto sum = Find(node.input(0), steps - 1);
    if (!sum.has_value()) return sum;
    const bool rearranges = ops::TraitsOf(node).rearranges;
    // Terms are known by the elements to which they were added, all of which must remain.
    if (!sum->terms.empty() && !rearranges) return std::nullopt;
    auto view = ApplyViewNode(node, value, sum->view, facts_);
    auto of_part = rearranges ? ApplyViewNode(node, value, sum->of_part, facts_)
                              : View::Dense(*facts_.DimsOf(&value));
    if (!view.has_value() || !of_part.has_value()) return std::nullopt;
    sum->of_part = *std::move(of_part);
    sum->view = *std::move(view);
    return sum;
  }

  std::optional<RegionSum> Added(const Node& node, const std::vector<SymInt>& dims, int steps) {
    for (const auto& [value, term] : SumsOf(&node)) {
      auto sum = Find(value, steps - 1);
      if (!sum.has_value() || sum->view.Dims() != dims) continue;
      sum->terms.push_back({term, IsDivOrSub(&node), sum->of_part});
      return sum;
    }
    return std::nullopt;
  }

  std::optional<RegionSum> Masked(const Node& node, const std::vector<SymInt>& dims, int steps) {
    for (const int side : {1, 2}) {
      const auto number = UniformOf(node.input(side));
      if (!number.has_value()) continue;
      auto sum = Find(node.input(3 - side), steps - 1);
      if (!sum.has_value() || sum->view.Dims() != dims) continue;
      sum->terms.push_back({node.input(0), side == 2, sum->of_part, number});
      return sum;
    }
    return std::nullopt;
  }

  absl::Span<const Traced> data_;
  Facts& facts_;
  int visits_left_ = 64;
};

// The sum of all terms, with the axes of the updates. Null if it cannot be written.
Value* SumOfTerms(const RegionSum& sum, absl::Span<Value* const> like, Patch& patch) {
  const auto signed_value = [&](const RegionTerm& term) {
    if (!term.negative) return term.value;
    return patch.Op(term.number.has_value() ? "Not" : "Neg", {term.value});
  };
  Value* all = nullptr;
  for (size_t i = 0; i < sum.terms.size();) {
    const View& at = sum.terms[i].at;
    Value* value = signed_value(sum.terms[i]);
    // Terms of one place are added first, since some may lack axes that must be joined.
    for (++i; i < sum.terms.size() && sum.terms[i].at == at; ++i) {
      value = patch.Op("Add", {value, signed_value(sum.terms[i])});
    }
    const auto map = AxisMap::Between(at.axes(), sum.of_part.axes());
    value = map.has_value() ? map->Apply(patch, value, like) : nullptr;
    if (value == nullptr) return nullptr;
    all = all == nullptr ? value : patch.Op("Add", {all, value});
  }
  return all;
}

// The value [.. of a part] with zeros around it, so that it broadcasts to the whole of extents
// `dims`. Null if the extents are not known.
Value* PaddedTo(Value* value, const std::vector<AxisPart>& part, const std::vector<SymInt>& dims,
                absl::Span<Value* const> like, Patch& patch) {
  std::vector<int64_t> before(dims.size());
  std::vector<int64_t> after(dims.size());
  std::vector<SymInt> filled(dims.size(), SymInt(1));
  for (const AxisPart& axis : part) {
    const auto rest = (dims[axis.axis] - axis.first - axis.count).constant();
    if (rest.value_or(-1) < 0) return nullptr;
    before[axis.axis] = *axis.first.constant();
    after[axis.axis] = *rest;
    filled[axis.axis] = axis.count;
  }
  Value* shape = ShapeOperand(patch, filled, like);
  if (shape == nullptr) return nullptr;
  before.insert(before.end(), after.begin(), after.end());
  return patch.Op("Pad", {patch.Op("Expand", {value, shape}), patch.Ints(before)});
}

// Adds the terms to the data, or chooses the number that one mask sets.
bool ChangePart(Node* scatter, Value* change, std::optional<double> number,
                const std::vector<AxisPart>& part, Patch& patch, Facts& facts) {
  Value* data = scatter->input(0);
  if (change == nullptr) return false;
  change = PaddedTo(change, part, *facts.DimsOf(data), {scatter->input(2), data}, patch);
  if (change == nullptr) return false;
  if (!number.has_value()) return patch.Substitute(scatter, "Add", {data, change});
  Value* masked = patch.Number("masked", facts.TypeOf(data), *number);
  return patch.Substitute(scatter, "Where", {change, masked, data});
}

// True if the sum has one mask alone, or none.
bool IsOneStep(const RegionSum& sum) {
  const auto masks = [](const RegionTerm& term) { return term.number.has_value(); };
  return sum.terms.size() == 1 || (!sum.terms.empty() && absl::c_none_of(sum.terms, masks));
}

bool ChangeAll(RuleContext& context, Node* scatter, Patch& patch) {
  Facts& facts = context.facts;
  Value* data = scatter->input(0);
  if (!ComesFromProduct(data)) return false;
  const auto part = ScatteredBox(*scatter, facts);
  if (!part.has_value() || part->empty()) return false;
  if (const auto number = UniformOf(scatter->input(2))) {
    Value* all = patch.Constant("all", FromInts(DataType::kBool, {}, {1}));
    return ChangePart(scatter, all, number, *part, patch, facts);
  }
  const std::vector<Traced> traced = Trace(data, facts);
  const auto sum = SumWalk(traced, facts).Find(scatter->input(2), kMaxSumSteps);
  if (!sum.has_value() || !IsOneStep(*sum)) return false;
  std::optional<View> replaced = sum->whole->view;
  for (const AxisPart& axis : *part) {
    if (replaced.has_value()) replaced = replaced->Sliced(axis.axis, axis.first, axis.count);
  }
  if (replaced != sum->view) return false;
  Value* terms = SumOfTerms(*sum, {scatter->input(2), data}, patch);
  return ChangePart(scatter, terms, sum->terms[0].number, *part, patch, facts);
}

}  // namespace

extern const Rule kRegionSums = {
    .name = "region_sums",
    .summary = "Scores of which a part gets a bias or a mask get zeros around that",
    .anchors = {"ScatterND"},
    .propose = ChangeAll};

}  // namespace attnrun::opt
