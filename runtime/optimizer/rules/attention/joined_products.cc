// SPDX-License-Identifier: Apache-2.0

// Joins the two products of two streams that share their probabilities, as LiLT has for text and
// layout, or of heads whose channels lie in two tensors, as DeepSeek has with and without rotation.
// A sum of two products of scores, or two products with the same probabilities, becomes one product
// over the channels of both:
//
//   q1 k1   q2 k2
//     |       |              [q1 c2/c1 q2]   [k1 k2]
//   MatMul  MatMul                     |       |
//     | c1    | c2                      MatMul
//     |       |          ->               | c1
//        Add                           Softmax   [v1 v2]
//         |                               |         |
//      Softmax                              MatMul
//     |       |   v1, v2                   |      |
//   MatMul  MatMul                       Slice  Slice
//     |       |                            |      |
//     y1      y2                           y1     y2
//
// Applies only where there are as many queries as keys: with one query and cached keys, copying the
// keys would take longer than the products.

#include <vector>

#include "absl/algorithm/container.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/axis_map.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/attention/ways.h"

namespace attnrun::opt {
namespace {

// Heads have four axes: samples, heads, positions, channels.
constexpr int kRank = 4;

// True if scores of extents [B, N, S, T] have as many queries as keys.
bool AreSquare(absl::Span<const SymInt> dims) { return dims.size() == kRank && dims[2] == dims[3]; }

// Concatenates heads [B, N, S, h], or [B, N, h, S] if `transposed`, along their channels. Samples
// and heads are broadcast where they differ. Null if that cannot be written.
Value* SideBySide(Patch& patch, const std::vector<Value*>& heads, bool transposed) {
  // The Concat has the order of a projection's result, [B, S, N, h], so that most Transposes
  // cancel.
  using Order = std::vector<int64_t>;
  const Order there = transposed ? Order{0, 3, 1, 2} : Order{0, 2, 1, 3};
  const Order back = transposed ? Order{0, 2, 3, 1} : Order{0, 2, 1, 3};
  std::vector<Value*> parts;
  for (Value* part : heads) parts.push_back(patch.Transpose(part, there));
  return patch.Transpose(JoinedParts(parts, 1, heads, patch), back);
}

// A product of heads that has one reader, times a number, in any order of its axes.
struct JoinedProduct {
  Source source;
  // The axes of the product as they lie in the sum.
  std::vector<ViewAxis> axes;

  Value* operand(int side) const { return source.node->input(side); }
};

// The product behind an operand of a sum of these extents.
std::optional<JoinedProduct> ProductOf(Value* value, const std::vector<SymInt>& sum,
                                       RuleContext& context) {
  auto source = FindSource(value, context, IsMatMulOfComputed);
  if (!source.has_value() || source->factor == 0 || source->view.Dims() != sum) {
    return std::nullopt;
  }
  const auto is_heads = [&](const Value* x) { return context.facts.RankOf(x) >= 2; };
  if (!absl::c_all_of(source->node->inputs(), is_heads)) return std::nullopt;
  const View product = View::Dense(*context.facts.DimsOf(source->node->output(0)));
  const auto map = AxisMap::Between(source->view.axes(), product.axes());
  const auto in_sum = map.has_value() ? map->Apply(View::Dense(sum)) : std::nullopt;
  if (!in_sum.has_value()) return std::nullopt;
  return JoinedProduct{*std::move(source), in_sum->axes()};
}

// True if axis `axis`, the channels, has a fixed extent in all tensors.
bool HaveFixedChannels(const std::vector<Value*>& heads, int axis, Facts& facts) {
  return absl::c_all_of(heads, [&](const Value* value) {
    const int rank = facts.RankOf(value);
    return rank > 0 && facts.Extent(value, axis < 0 ? axis + rank : axis).has_value();
  });
}

std::vector<ViewAxis> Without(std::vector<ViewAxis> axes, size_t from_last) {
  axes.erase(axes.end() - static_cast<std::ptrdiff_t>(from_last));
  return axes;
}

// An operand of `product` with the axes that it would have in the product whose axes are `like`; it
// lacks the axis `from_last`, counted from the last as 1. Null if it does not fit.
Value* OperandLike(const std::vector<ViewAxis>& like, const JoinedProduct& product,
                   size_t from_last, Patch& patch, Facts& facts) {
  const bool is_key = from_last == 2;
  Value* operand = product.operand(is_key ? 1 : 0);
  const auto map = AxisMap::Between(Without(product.axes, from_last), Without(like, from_last));
  if (!map.has_value()) return nullptr;
  // A product that has the axes already keeps its operands.
  if (product.axes == like && facts.RankOf(operand) == kRank) return operand;
  if (is_key) operand = patch.SwapLastTwo(operand);
  operand = map->Apply(patch, operand, {}, 1);
  return is_key ? patch.SwapLastTwo(operand) : operand;
}

// Writes the sum of two products as one with the axes of the first. False if the second does not
// fit.
bool JoinLike(const JoinedProduct& first, const JoinedProduct& second, RuleContext& context,
              Node* add, Patch& patch) {
  Facts& facts = context.facts;
  if (!AreSquare(*facts.DimsOf(first.source.node->output(0)))) return false;
  std::vector<Value*> queries;
  std::vector<Value*> keys;
  for (const JoinedProduct* product : {&first, &second}) {
    queries.push_back(OperandLike(first.axes, *product, 1, patch, facts));
    keys.push_back(OperandLike(first.axes, *product, 2, patch, facts));
    if (queries.back() == nullptr || keys.back() == nullptr) return false;
  }
  queries[1] = patch.Times(queries[1], second.source.factor / first.source.factor);
  Value* q = SideBySide(patch, queries, false);
  Value* k = SideBySide(patch, keys, true);
  if (q == nullptr || k == nullptr) return false;
  Value* product = patch.Op("MatMul", {q, k}, {}, first.source.node->name());
  product = patch.Times(product, first.source.factor);
  const auto back = AxisMap::Between(first.axes, View::Dense(*facts.DimsOf(add->output(0))).axes());
  if (!back.has_value()) return false;
  Value* result = back->Apply(patch, product, {add->input(0)});
  patch.Supersede(first.source.nodes());
  patch.Supersede(second.source.nodes());
  return patch.Substitute(add, result);
}

bool JoinScores(RuleContext& context, Node* add, Patch& patch) {
  const std::vector<SymInt>* dims = context.facts.DimsOf(add->output(0));
  if (dims == nullptr || !LeadsToSoftmax(*add->output(0))) return false;
  const auto first = ProductOf(add->input(0), *dims, context);
  const auto second = first.has_value() ? ProductOf(add->input(1), *dims, context) : std::nullopt;
  if (!second.has_value()) return false;
  const std::vector<Value*> queries = {first->operand(0), second->operand(0)};
  if (!HaveFixedChannels(queries, -1, context.facts)) return false;
  return JoinLike(*first, *second, context, add, patch) ||
         JoinLike(*second, *first, context, add, patch);
}

bool JoinValues(RuleContext& context, Node* softmax, Patch& patch) {
  Facts& facts = context.facts;
  Value* probabilities = softmax->output(0);
  const std::vector<SymInt>* of = facts.DimsOf(probabilities);
  if (of == nullptr || !AreSquare(*of)) return false;
  std::vector<Node*> products;
  std::vector<Value*> values;
  for (Node* node : probabilities->consumers()) {
    if (!IsMatMulOfHeads(*node) || node->input(0) != probabilities) return false;
    // Values that are computed from the probabilities would depend on the product that they join.
    if (DependsOn(*node->input(1), *softmax)) return false;
    products.push_back(node);
    values.push_back(node->input(1));
  }
  const std::vector<SymInt>& dims = *facts.DimsOf(probabilities);
  if (products.size() < 2 || !HaveFixedChannels(values, 3, facts)) return false;
  for (const Node* product : products) {
    const std::vector<SymInt>* result = facts.DimsOf(product->output(0));
    if (result == nullptr || (*result)[0] != dims[0] || (*result)[1] != dims[1]) return false;
  }
  Value* all = SideBySide(patch, values, false);
  if (all == nullptr) return false;
  patch.Supersede(products);
  Value* result = patch.Op("MatMul", {probabilities, all}, {}, products[0]->name());
  int64_t start = 0;
  for (Node* product : products) {
    const int64_t end = start + *facts.Extent(product->output(0), 3);
    Value* axis = patch.Ints({3});
    patch.Replace(product->output(0),
                  patch.Op("Slice", {result, patch.Ints({start}), patch.Ints({end}), axis}));
    start = end;
  }
  return true;
}

}  // namespace

extern const Rule kJoinedProducts = {
    .name = "joined_products",
    .summary = "Scores and values computed in two parts become one product each",
    .starts = {{{"Add", JoinScores}, {"Softmax", JoinValues}}}};

}  // namespace attnrun::opt
