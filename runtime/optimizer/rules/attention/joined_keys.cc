// SPDX-License-Identifier: Apache-2.0

// Models of long texts let a block of queries see the keys of some blocks and those of global
// tokens. They compute the scores in parts, and concatenate them before one Softmax. The parts
// become one product:
//
//   q   k1   q   k2                      q   Concat(k1, k2)
//    \  /     \  /                        \    /
//   MatMul   MatMul                       MatMul
//       \     /             ->              |
//       Concat (along the keys)          Softmax
//          |
//       Softmax
//
// Where one part lacks an axis that another has, such as that of blocks, its keys are repeated. Two
// parts with queries of their own, as LUKE has for words and for entities, become one product over
// the channels of both, with zeros beside the channels of each key:
//
//   q1 k1, q2 k2   ->   [q1 q2] Concat([k1 0], [0 k2])
//
// Queries must then be finite, which scores need anyway.
//
// Parts that are concatenated along the queries, with the same keys, become one product, too.

#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/product_search.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/axis_map.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/attention/ways.h"

namespace attnrun::opt {
namespace {

// A product of scores that is a part of a Concat.
struct ScorePart {
  Source source;
  // The axes of the product.
  View product;

  Value* queries() const { return source.node->input(0); }
  Value* keys() const { return source.node->input(1); }
  // The axes of the part, as they lie in the product.
  const std::vector<ViewAxis>& axes() const { return source.view.axes(); }
  const ViewAxis& rows() const { return product.axes()[product.rank() - 2]; }
  const ViewAxis& columns() const { return product.axes().back(); }
};

using ScoreParts = std::vector<ScorePart>;

// The axis of a Concat of scores, counted from the first; nullopt for other nodes.
std::optional<int> AxisOfScores(const Node& concat, Facts& facts) {
  if (concat.inputs().size() < 2 || !LeadsToSoftmax(*concat.output(0))) return std::nullopt;
  return AxisOf(concat, facts.RankOf(concat.output(0)));
}

std::optional<ScoreParts> ScorePartsOf(const Node& concat, RuleContext& context) {
  ScoreParts parts;
  for (Value* input : concat.inputs()) {
    auto source = FindSource(input, context, IsMatMulOfHeads);
    if (!source.has_value() || source->factor == 0) return std::nullopt;
    for (const Value* operand : source->node->inputs()) {
      if (context.facts.RankOf(operand) < 2) return std::nullopt;
    }
    View product = View::Dense(*context.facts.DimsOf(source->node->output(0)));
    parts.push_back({*std::move(source), std::move(product)});
  }
  return parts;
}

// The last axis of the parts, but for `keys`, that is a part of the rows of each product: the
// queries.
std::optional<int> QueriesOf(const ScoreParts& parts, int keys) {
  for (int axis = parts[0].source.view.rank() - 1; axis >= 0; --axis) {
    const auto is_query = [&](const ScorePart& part) {
      return SplitAround(part.rows(), part.axes()[axis]).has_value();
    };
    if (axis != keys && absl::c_all_of(parts, is_query)) return axis;
  }
  return std::nullopt;
}

// The axes of a part that lead: all but those of queries and keys.
std::vector<ViewAxis> LeadingAxes(const ScorePart& part, int queries, int keys) {
  std::vector<ViewAxis> axes;
  for (int axis = 0; axis < part.source.view.rank(); ++axis) {
    if (axis != queries && axis != keys) axes.push_back(part.axes()[axis]);
  }
  return axes;
}

// How the axes of a part's queries [.., rows], or of its keys [..], become [.., queries] or [..].
std::optional<AxisMap> MapOfQueries(const ScorePart& part, int queries, int keys) {
  std::vector<ViewAxis> to = LeadingAxes(part, queries, keys);
  to.push_back(part.axes()[queries]);
  return AxisMap::Between(AxesWithout(part.product, part.product.rank() - 1), to);
}
std::optional<AxisMap> MapOfKeys(const ScorePart& part, int queries, int keys) {
  return AxisMap::Between(BatchAxes(part.product), LeadingAxes(part, queries, keys));
}

// True if two values, rearranged by two maps, are the same, of which `kept` axes are no part.
bool AreSameWhere(Value* a, const AxisMap& map_a, Value* b, const AxisMap& map_b, int kept,
                  Facts& facts) {
  for (const Traced& of_a : Trace(a, facts)) {
    for (const Traced& of_b : Trace(b, facts)) {
      if (of_a.base != of_b.base) continue;
      const auto view_a = map_a.Apply(of_a.view, kept);
      if (view_a.has_value() && view_a == map_b.Apply(of_b.view, kept)) return true;
    }
  }
  return false;
}

// The operands that the joined product gets.
class JoinedOperands {
 public:
  JoinedOperands(const ScoreParts& parts, int queries, int keys, Patch& patch, Facts& facts)
      : parts_(parts), queries_(queries), keys_(keys), patch_(patch), facts_(facts) {
    for (const ScorePart& part : parts_) {
      like_.push_back(part.queries());
      like_.push_back(part.keys());
    }
  }

  // Finds which parts have the same queries. False if they cannot be brought into one form, or if
  // there are too many groups of them.
  bool FindGroups() {
    constexpr size_t kMostGroups = 2;
    for (size_t i = 0; i < parts_.size(); ++i) {
      const auto map = MapOfQueries(parts_[i], queries_, keys_);
      if (!map.has_value()) return false;
      maps_.push_back(*map);
      const auto same = absl::c_find_if(first_, [&](size_t other) {
        return AreSameWhere(parts_[i].queries(), maps_[i], parts_[other].queries(), maps_[other], 1,
                            facts_);
      });
      group_.push_back(same - first_.begin());
      if (same == first_.end()) first_.push_back(i);
      channels_.push_back(facts_.Extent(parts_[i].queries(), -1).value_or(0));
    }
    return first_.size() <= kMostGroups && (first_.size() == 1 || absl::c_count(channels_, 0) == 0);
  }

  // [.., queries, channels]
  Value* Queries() {
    std::vector<Value*> all;
    for (const size_t part : first_) {
      all.push_back(maps_[part].Apply(patch_, parts_[part].queries(), like_, 1));
    }
    return JoinedParts(all, 1, like_, patch_);
  }

  // [.., channels, keys]
  Value* Keys() {
    std::vector<Value*> all;
    for (size_t i = 0; i < parts_.size(); ++i) {
      const auto map = MapOfKeys(parts_[i], queries_, keys_);
      Value* keys = map.has_value() ? map->Apply(patch_, parts_[i].keys(), like_, 2) : nullptr;
      if (keys == nullptr) return nullptr;
      // The joined product has the factor of the first part.
      keys = patch_.Times(keys, parts_[i].source.factor / parts_[0].source.factor);
      all.push_back(AmongChannels(keys, i));
    }
    return JoinedParts(all, 1, like_, patch_);
  }

 private:
  // With zeros in place of the channels that other groups of queries have.
  Value* AmongChannels(Value* keys, size_t i) {
    const int rank = facts_.RankOf(keys);
    if (first_.size() == 1 || rank < 0) return keys;
    std::vector<int64_t> pads(2 * static_cast<size_t>(rank));
    for (size_t group = 0; group < first_.size(); ++group) {
      if (group == group_[i]) continue;
      pads[(group < group_[i] ? 0 : rank) + rank - 2] += channels_[first_[group]];
    }
    return patch_.Op("Pad", {keys, patch_.Ints(pads)});
  }

  const ScoreParts& parts_;
  const int queries_;
  const int keys_;
  Patch& patch_;
  Facts& facts_;
  std::vector<Value*> like_;
  std::vector<AxisMap> maps_;
  std::vector<int64_t> channels_;
  // The group of each part, and the first part of each group.
  std::vector<size_t> group_;
  std::vector<size_t> first_;
};

// Puts the product of these operands, [leading, queries, keys], in the place of the Concat.
bool ReplaceByProduct(const ScoreParts& parts, Value* q, Value* k, int queries, int keys,
                      Node* concat, Patch& patch, Facts& facts) {
  if (q == nullptr || k == nullptr) return false;
  Value* product = patch.Op("MatMul", {q, k}, {}, parts[0].source.node->name());
  product = patch.Times(product, parts[0].source.factor);
  const int rank = facts.RankOf(concat->output(0));
  std::vector<int64_t> order;
  int leading = 0;
  for (int axis = 0; axis < rank; ++axis) {
    order.push_back(axis == queries ? rank - 2 : axis == keys ? rank - 1 : leading++);
  }
  for (const ScorePart& part : parts) patch.Supersede(part.source.nodes());
  return patch.Substitute(concat, patch.Transpose(product, order));
}

bool JoinKeys(RuleContext& context, Node* concat, Patch& patch) {
  Facts& facts = context.facts;
  const auto keys = AxisOfScores(*concat, facts);
  const auto parts = keys.has_value() ? ScorePartsOf(*concat, context) : std::nullopt;
  if (!parts.has_value()) return false;
  const auto has_keys = [&](const ScorePart& part) { return part.axes()[*keys] == part.columns(); };
  const auto queries = QueriesOf(*parts, *keys);
  if (!queries.has_value() || !absl::c_all_of(*parts, has_keys)) return false;
  // For one query, copying the keys would take longer than the products.
  if (parts->front().source.view.Extent(*queries).is_constant(1)) return false;
  JoinedOperands operands(*parts, *queries, *keys, patch, facts);
  if (!operands.FindGroups()) return false;
  Value* q = operands.Queries();
  Value* k = q == nullptr ? nullptr : operands.Keys();
  return ReplaceByProduct(*parts, q, k, *queries, *keys, concat, patch, facts);
}

// Joins parts that are concatenated along the queries and read one value as keys.
bool JoinQueries(RuleContext& context, Node* concat, Patch& patch) {
  Facts& facts = context.facts;
  const auto queries = AxisOfScores(*concat, facts);
  const auto parts = queries.has_value() ? ScorePartsOf(*concat, context) : std::nullopt;
  if (!parts.has_value()) return false;
  std::vector<Value*> all;
  for (const ScorePart& part : *parts) {
    const bool plain = part.source.view == part.product && part.source.factor == 1;
    const bool fits = *queries == part.product.rank() - 2 && part.keys() == parts->front().keys();
    if (!plain || !fits || facts.RankOf(part.queries()) != part.product.rank()) return false;
    all.push_back(part.queries());
  }
  Value* k = parts->front().keys();
  Value* q = JoinedParts(all, 2, all, patch);
  return ReplaceByProduct(*parts, q, k, *queries, *queries + 1, concat, patch, facts);
}

bool JoinScoreParts(RuleContext& context, Node* concat, Patch& patch) {
  return JoinKeys(context, concat, patch) || JoinQueries(context, concat, patch);
}

}  // namespace

extern const Rule kJoinedKeys = {
    .name = "joined_keys",
    .summary = "Scores computed for some keys at a time become one product",
    .anchors = {"Concat"},
    .propose = JoinScoreParts};

}  // namespace attnrun::opt
