// SPDX-License-Identifier: Apache-2.0

// Some models multiply the heads one by one, or in parts, and put the scores together before one
// Softmax, or cut its probabilities again. Products whose operands are parts of one value each
// become one product, so that the attention rule finds it:
//
//   q [B,N,S,H]       k [B,N,H,T]
//      |                 |
//    Split             Split               q [B,N,S,H]   k [B,N,H,T]
//   |      |          |     |                       \     /
//   |      MatMul ----|-----+          ->            MatMul
//   MatMul ---|-------+                                |
//         |   |                                   [B,N,S,T]
//        Concat
//           |
//      [B,N,S,T]
//
// The parts may be put together along an axis of their own (a stack), along one that both operands
// have, or along rows or columns.

#include <cstdint>
#include <iterator>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/product_search.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/reshape.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/attention/ways.h"

namespace attnrun::opt {
namespace {

// The products that a Concat puts together.
struct StackedProducts {
  std::vector<Node*> products;
  // All nodes to remove besides the Concat.
  std::vector<Node*> nodes;
  // The Concat's axis, and whether the parts got it as an axis of extent 1.
  int axis = 0;
  bool stacked = false;
};

// True if all products have operands of the same extents, and of the rank of the result.
bool AreAlike(const std::vector<Node*>& products, Facts& facts) {
  for (const int side : {0, 1}) {
    const std::vector<SymInt>* first = facts.DimsOf(products[0]->input(side));
    if (first == nullptr || facts.RankOf(products[0]->output(0)) != std::ssize(*first))
      return false;
    for (const Node* product : products) {
      const std::vector<SymInt>* dims = facts.DimsOf(product->input(side));
      if (dims == nullptr || *dims != *first) return false;
    }
  }
  return true;
}

std::optional<StackedProducts> ProductsOf(const Node& concat, RuleContext& context) {
  const auto axis = AxisOf(concat, context.facts.RankOf(concat.output(0)));
  if (concat.inputs().size() < 2 || !axis.has_value()) return std::nullopt;
  StackedProducts parts;
  parts.axis = *axis;
  for (Value* input : concat.inputs()) {
    const auto source = FindSource(input, context, IsMatMulOfComputed);
    if (!source.has_value() || source->factor != 1) return std::nullopt;
    const View product = View::Dense(*context.facts.DimsOf(source->node->output(0)));
    const bool stacked = source->view != product;
    if (stacked && source->view != product.Unsqueezed(parts.axis)) return std::nullopt;
    if (!parts.products.empty() && stacked != parts.stacked) return std::nullopt;
    parts.stacked = stacked;
    parts.products.push_back(source->node);
    absl::c_copy(source->nodes(), std::back_inserter(parts.nodes));
  }
  return AreAlike(parts.products, context.facts) ? std::optional(parts) : std::nullopt;
}

// True if the parts are put together along an axis that both operands of the products have.
bool AlongStack(const StackedProducts& parts, Facts& facts) {
  const Node& product = *parts.products[0];
  const std::vector<SymInt>& dims = *facts.DimsOf(product.output(0));
  if (parts.stacked || parts.axis + 2 >= std::ssize(dims)) return false;
  return absl::c_all_of(product.inputs(), [&](const Value* operand) {
    return (*facts.DimsOf(operand))[parts.axis] == dims[parts.axis];
  });
}

// The operands at `side` of all products along `axis`, which is new if `adds`. Null if they are not
// parts of one value: to put them together would cost a copy.
Value* StackedOperands(const StackedProducts& parts, int side, int axis, bool adds, Patch& patch,
                       Facts& facts) {
  std::vector<Value*> operands;
  const Value* first = parts.products[0]->input(side);
  const auto reads_first = [&](const Node* product) { return product->input(side) == first; };
  // One value is no parts, and would be repeated.
  if (adds && absl::c_all_of(parts.products, reads_first)) return nullptr;
  for (const Node* product : parts.products) {
    Value* operand = product->input(side);
    operands.push_back(adds ? patch.Op("Unsqueeze", {operand, patch.Ints({axis})}) : operand);
  }
  Value* all = patch.Op("Concat", operands, {{"axis", int64_t{axis}}});
  return Trace(all, facts).size() > 1 ? all : nullptr;
}

// True if the Softmax is behind the products, or the products read its probabilities.
bool BelongToAttention(const Node& concat, const StackedProducts& parts) {
  if (LeadsToSoftmax(*concat.output(0))) return true;
  return ComesFromSoftmax(parts.products[0]->input(0));
}

// Moves the axis of the parts, which stands before the matrices of `product`, to where the Concat
// has it.
Value* AsConcatenated(Value* product, const Node& concat, const StackedProducts& parts,
                      Patch& patch, Facts& facts) {
  const int rank = facts.RankOf(product);
  if (rank < 3) return nullptr;
  std::vector<int64_t> order(rank);
  absl::c_iota(order, 0);
  order.erase(order.end() - 3);
  order.insert(order.begin() + parts.axis, rank - 3);
  product = patch.Transpose(product, order);
  return ReshapeTo(patch, product, *facts.DimsOf(concat.output(0)), {concat.output(0)});
}

bool JoinParts(RuleContext& context, Node* concat, Patch& patch) {
  Facts& facts = context.facts;
  const auto parts = ProductsOf(*concat, context);
  if (!parts.has_value() || !BelongToAttention(*concat, *parts)) return false;
  const bool along = AlongStack(*parts, facts);
  const int rank = facts.RankOf(parts->products[0]->output(0));
  const int axis = along ? parts->axis : rank - 2;
  Value* left = StackedOperands(*parts, 0, axis, !along, patch, facts);
  Value* right = left == nullptr ? nullptr : StackedOperands(*parts, 1, axis, !along, patch, facts);
  if (right == nullptr) return false;
  Value* product = patch.Op("MatMul", {left, right}, {}, parts->products[0]->name());
  if (!along) product = AsConcatenated(product, *concat, *parts, patch, facts);
  patch.Supersede(parts->nodes);
  return patch.Substitute(concat, product);
}

}  // namespace

extern const Rule kStackedProducts = {
    .name = "stacked_products",
    .summary = "Products of parts of two values that are put together become one product",
    .anchors = {"Concat"},
    .propose = JoinParts,
    .aliases = {"stacked_scores"}};

}  // namespace attnrun::opt
