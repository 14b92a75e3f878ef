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

#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "core/elements.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/reshape.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/attention/row_factors.h"

namespace attnrun::opt {
namespace {

// Heads have four axes: samples, heads, positions, channels.
constexpr int kRank = 4;

// True if scores of extents [B, N, S, T] have as many queries as keys.
bool AreSquare(const std::vector<SymInt>* dims) {
  return dims != nullptr && dims->size() == kRank && (*dims)[2] == (*dims)[3];
}

// Concatenates heads [B, N, S, h], or [B, N, h, S] if `transposed`, along their channels. Samples
// and heads are broadcast where they differ. Null if that cannot be written.
Value* SideBySide(Patch& patch, Facts& facts, const std::vector<Value*>& heads, bool transposed) {
  std::vector<SymInt> leading(2, SymInt(1));
  for (const Value* part : heads) {
    for (int i = 0; i < 2; ++i) {
      const SymInt& extent = facts.DimsOf(part)->at(i);
      if (!extent.is_constant(1)) leading[i] = extent;
    }
  }
  // The Concat has the order of a projection's result, [B, S, N, h], so that most Transposes
  // cancel.
  using Order = std::vector<int64_t>;
  const Order there = transposed ? Order{0, 3, 1, 2} : Order{0, 2, 1, 3};
  const Order back = transposed ? Order{0, 2, 3, 1} : Order{0, 2, 1, 3};
  std::vector<Value*> parts;
  for (Value* part : heads) {
    std::vector<SymInt> dims = *facts.DimsOf(part);
    if (dims[0] != leading[0] || dims[1] != leading[1]) {
      absl::c_copy(leading, dims.begin());
      Value* shape = ShapeOperand(patch, facts, dims, heads);
      if (shape == nullptr) return nullptr;
      part = patch.Op("Expand", {part, shape});
    }
    parts.push_back(patch.Op("Transpose", {part}, {{"perm", there}}));
  }
  Value* all = patch.Op("Concat", parts, {{"axis", int64_t{3}}});
  return patch.Op("Transpose", {all}, {{"perm", back}});
}

// A product of heads that has one reader, times a number.
struct Product {
  Node* matmul = nullptr;
  double factor = 1;
  std::vector<Node*> nodes;
};

std::optional<Product> ProductOf(Value* value, RuleContext& context) {
  Product product;
  while (value->consumers().size() == 1 && !context.graph.IsOutput(value)) {
    Node* node = value->producer();
    if (node == nullptr || node->output(0) != value) return std::nullopt;
    product.nodes.push_back(node);
    if (IsOp(node, "MatMul")) {
      for (const Value* operand : node->inputs()) {
        if (operand->is_constant() || context.facts.RankOf(operand) != kRank) return std::nullopt;
      }
      product.matmul = node;
      return product;
    }
    double factor = 1;
    value = ScaledOperand(*node, factor);
    product.factor *= factor;
    if (value == nullptr || product.factor == 0) return std::nullopt;
  }
  return std::nullopt;
}

// True if axis `axis`, the channels, has a fixed extent in all tensors.
bool HaveFixedChannels(const std::vector<Value*>& heads, int axis, Facts& facts) {
  return absl::c_all_of(heads, [&](const Value* value) {
    return facts.RankOf(value) == kRank && facts.Extent(value, axis).has_value();
  });
}

bool JoinScores(RuleContext& context, Node* add, Patch& patch) {
  Facts& facts = context.facts;
  const std::vector<SymInt>* dims = facts.DimsOf(add->output(0));
  if (!AreSquare(dims) || !LeadsToSoftmax(*add->output(0))) return false;
  const auto first = ProductOf(add->input(0), context);
  const auto second = ProductOf(add->input(1), context);
  if (!first.has_value() || !second.has_value()) return false;
  for (const auto& product : {first, second}) {
    if (*facts.DimsOf(product->matmul->output(0)) != *dims) return false;
  }
  std::vector<Value*> queries = {first->matmul->input(0), second->matmul->input(0)};
  const std::vector<Value*> keys = {first->matmul->input(1), second->matmul->input(1)};
  if (!HaveFixedChannels(queries, 3, facts)) return false;
  const DataType type = facts.TypeOf(add->output(0));
  const auto times = [&](Value* value, double factor) {
    if (factor == 1) return value;
    return patch.Op("Mul", {value, patch.Constant("factor", FromDoubles(type, {}, {factor}))});
  };
  queries[1] = times(queries[1], second->factor / first->factor);
  Value* q = SideBySide(patch, facts, queries, false);
  Value* k = SideBySide(patch, facts, keys, true);
  if (q == nullptr || k == nullptr) return false;
  patch.Supersede(first->nodes);
  patch.Supersede(second->nodes);
  patch.Supersede({add});
  Value* product = patch.Op("MatMul", {q, k}, {}, first->matmul->name());
  patch.Replace(add->output(0), times(product, first->factor));
  return true;
}

bool JoinValues(RuleContext& context, Node* softmax, Patch& patch) {
  Facts& facts = context.facts;
  Value* probabilities = softmax->output(0);
  if (!AreSquare(facts.DimsOf(probabilities))) return false;
  std::vector<Node*> products;
  std::vector<Value*> values;
  for (Node* node : probabilities->consumers()) {
    if (!IsOp(node, "MatMul") || node->input(0) != probabilities) return false;
    products.push_back(node);
    values.push_back(node->input(1));
  }
  const std::vector<SymInt>& dims = *facts.DimsOf(probabilities);
  if (products.size() < 2 || !HaveFixedChannels(values, 3, facts)) return false;
  for (const Node* product : products) {
    const std::vector<SymInt>* result = facts.DimsOf(product->output(0));
    if (result == nullptr || (*result)[0] != dims[0] || (*result)[1] != dims[1]) return false;
  }
  Value* all = SideBySide(patch, facts, values, false);
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

bool JoinProducts(RuleContext& context, Node* node, Patch& patch) {
  return (IsOp(node, "Add") && JoinScores(context, node, patch)) ||
         (IsOp(node, "Softmax") && JoinValues(context, node, patch));
}

}  // namespace

extern const Rule kJoinedProducts = {
    .name = "joined_products",
    .summary = "Scores and values computed in two parts become one product each",
    .anchors = {"Add", "Softmax"},
    .propose = JoinProducts};

}  // namespace attnrun::opt
