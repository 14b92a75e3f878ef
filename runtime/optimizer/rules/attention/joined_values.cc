// SPDX-License-Identifier: Apache-2.0

// Models whose scores are computed in parts (joined_keys.cc) multiply each part of the
// probabilities by values of its own, and add up the results. They become one product:
//
//        Softmax
//       /       \                       Softmax
//    Slice     Slice                       |
//      |  v1     |  v2                     |  Concat(v1, v2)
//      |  /      |  /         ->           |  /
//    MatMul    MatMul                    MatMul
//        \      /
//          Add
//
// Where one part lacks an axis that another has, such as that of blocks, its values are repeated.

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/axis_map.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/attention/ways.h"

namespace attnrun::opt {
namespace {

// A product of a part of the probabilities and some values.
struct ValuePart {
  Source source;
  // The probabilities, and the part of them that the product reads.
  Value* whole = nullptr;
  View read;
  SymInt first;

  Value* values() const { return source.node->input(1); }
  // How the axes before the channels lie in the whole.
  std::vector<ViewAxis> rows() const { return AxesWithout(read, read.rank() - 1); }
};

// True if the part has all samples, heads and queries, and some keys, which are the last axis.
bool ReadsKeys(const ValuePart& part, const View& whole, const std::vector<SymInt>& dims) {
  const auto map = AxisMap::Between(part.rows(), AxesWithout(whole, whole.rank() - 1));
  const auto rows = map.has_value() ? map->Apply(part.read, 1) : std::nullopt;
  const SymInt keys = part.read.Extent(part.read.rank() - 1);
  const auto slice = whole.Sliced(whole.rank() - 1, part.first, keys);
  const auto& queries = part.read.axes()[part.read.rank() - 2];
  return rows.has_value() && rows == slice &&
         SplitAround(queries, whole.axes()[dims.size() - 2]).has_value();
}

std::optional<ValuePart> ValuePartOf(Value* value, RuleContext& context) {
  Facts& facts = context.facts;
  auto source = FindSource(value, context, IsMatMulOfHeads);
  if (!source.has_value() || source->factor != 1) return std::nullopt;
  const std::vector<Traced> traced = Trace(source->node->input(0), facts);
  if (traced.empty() || facts.RankOf(source->node->input(1)) < 2) return std::nullopt;
  const Traced& furthest = traced.back();
  const std::vector<SymInt>* dims = facts.DimsOf(furthest.base);
  if (dims == nullptr || dims->size() < 2 || furthest.view.rank() < 2) return std::nullopt;
  if (!IsOp(furthest.base->producer(), "Softmax")) return std::nullopt;
  ValuePart part = {*std::move(source), furthest.base, furthest.view, furthest.view.offset()};
  if (!ReadsKeys(part, View::Dense(*dims), *dims)) return std::nullopt;
  return part;
}

// Appends the terms of a sum to `terms`, but for Adds that others read.
void CollectTerms(Value* value, RuleContext& context, std::vector<Value*>& terms,
                  std::vector<Node*>& adds) {
  constexpr size_t kMost = 16;
  Node* add = ProducerOf(value, "Add");
  const bool top = adds.empty();
  if (add == nullptr || adds.size() == kMost ||
      (!top && OnlyReader(context.graph, value) == nullptr)) {
    terms.push_back(value);
    return;
  }
  adds.push_back(add);
  for (Value* operand : add->inputs()) CollectTerms(operand, context, terms, adds);
}

// The parts in the order of their keys; nullopt if they do not have each key of one value once.
std::optional<std::vector<ValuePart>> ValuePartsOf(const std::vector<Value*>& terms,
                                                   RuleContext& context) {
  std::vector<ValuePart> parts;
  for (Value* term : terms) {
    auto part = ValuePartOf(term, context);
    if (!part.has_value()) return std::nullopt;
    if (!parts.empty() && part->whole != parts[0].whole) return std::nullopt;
    parts.push_back(*std::move(part));
  }
  // Numbers of keys may vary, so that only the part that continues another is known.
  SymInt end;
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto next = std::find_if(parts.begin() + static_cast<std::ptrdiff_t>(i), parts.end(),
                                   [&](const ValuePart& part) { return part.first == end; });
    if (next == parts.end()) return std::nullopt;
    std::iter_swap(parts.begin() + static_cast<std::ptrdiff_t>(i), next);
    end = end + parts[i].read.Extent(parts[i].read.rank() - 1);
  }
  const std::vector<SymInt>& whole = *context.facts.DimsOf(parts[0].whole);
  return end == whole.back() ? std::optional(std::move(parts)) : std::nullopt;
}

// The values of all parts, [.., keys, channels], with the leading axes of the probabilities.
Value* AllValues(const std::vector<ValuePart>& parts, const View& whole, Patch& patch) {
  std::vector<Value*> like = {parts[0].whole};
  for (const ValuePart& part : parts) like.push_back(part.values());
  std::vector<Value*> all;
  for (const ValuePart& part : parts) {
    const auto map = AxisMap::Between(BatchAxes(part.read), BatchAxes(whole));
    if (!map.has_value()) return nullptr;
    all.push_back(map->Apply(patch, part.values(), like, 2));
  }
  return JoinedParts(all, 2, like, patch);
}

bool JoinTerms(RuleContext& context, Node* add, Patch& patch) {
  Facts& facts = context.facts;
  std::vector<Value*> terms;
  std::vector<Node*> adds;
  CollectTerms(add->output(0), context, terms, adds);
  const auto parts = ValuePartsOf(terms, context);
  if (!parts.has_value()) return false;
  const View whole = View::Dense(*facts.DimsOf(parts->front().whole));
  Value* values = AllValues(*parts, whole, patch);
  if (values == nullptr) return false;
  const Source& source = parts->front().source;
  Value* product = patch.Op("MatMul", {parts->front().whole, values}, {}, source.node->name());
  // The product gets the axes that it had, and the views that followed it.
  const auto back = AxisMap::Between(AxesWithout(whole, whole.rank() - 1), parts->front().rows());
  product = back.has_value() ? back->Apply(patch, product, source.node->inputs(), 1) : nullptr;
  if (product == nullptr) return false;
  for (const ValuePart& part : *parts) patch.Supersede(part.source.nodes());
  return patch.Substitute(adds, add->output(0), Repeated(source, product, patch));
}

}  // namespace

extern const Rule kJoinedValues = {
    .name = "joined_values",
    .summary = "Products of parts of the probabilities that are added up become one product",
    .anchors = {"Add"},
    .propose = JoinTerms};

}  // namespace attnrun::opt
