// SPDX-License-Identifier: Apache-2.0

// Scores may be multiplied by more than one constant number: Swin v2 has a learned scale for each
// head, other models a temperature as an input. A factor f that is the same for all keys moves to
// the queries, so that the attention rule finds the plain product:
//
//   q   k                      q   f
//    \ /                        \ /
//  MatMul   f                   Mul   k
//      \   /          ->          \  /
//       Mul (or Div)             MatMul
//        |                         |
//     Softmax                   Softmax
//
// Views may stand before the Mul: the factor is then rearranged like the product. A factor that is
// the same for all queries, such as an integer mask that is not known to hold only
// 0 and 1, moves to the keys, unless there may be many of these for each query. A factor of the
// probabilities for each head or query, such as a mask of heads or a gate, moves behind the product
// with the values; one for each key moves to the values:
//
//   softmax(s)   f [.., S, 1]                            f [.., 1, T]
//           \   /                  P   v                       |
//            Mul    v      ->       \ /           P    v   Transpose
//              \   /              MatMul   f       \    \   /
//              MatMul                 \   /         \    Mul
//                                      Mul           MatMul

#include "optimizer/rules/attention/row_factors.h"

#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "ops/interface/registry.h"
#include "optimizer/analysis/broadcasting.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/axis_map.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/attention/scores.h"

namespace attnrun::opt {
namespace {

// True for a product of two computed values.
bool IsProduct(const Node* node) {
  return IsOp(node, "MatMul") && !node->input(0)->is_constant() && !node->input(1)->is_constant() &&
         node->output(0)->consumers().size() == 1;
}

// True if `factor` is the same for all columns of a product of this rank, but is no single number:
// a single number can stay where it is.
bool IsByRow(const Value* factor, int rank, Facts& facts) {
  const std::vector<SymInt>* dims = facts.DimsOf(factor);
  if (dims == nullptr || static_cast<int>(dims->size()) > rank) return false;
  return !UniformOf(factor).has_value() && (dims->empty() || dims->back().is_constant(1));
}

// True if the factor is a bool cast to numbers, or constant: it may be a mask of keys.
bool MayBeMask(const Value* factor, Facts& facts) {
  for (int i = 0; i < 8 && factor->producer() != nullptr && IsViewNode(*factor->producer()); ++i) {
    factor = factor->producer()->input(0);
  }
  const Node* cast = factor->producer();
  return factor->is_constant() ||
         (IsOp(cast, "Cast") && facts.TypeOf(cast->input(0)) == DataType::kBool);
}

// True if `factor`, [.., 1, T], is the same for all rows of a product of as many rows as columns.
bool IsByColumn(const Value* factor, const Value* product, Facts& facts) {
  const std::vector<SymInt>* of = facts.DimsOf(product);
  const std::vector<SymInt>* dims = facts.DimsOf(factor);
  if (of == nullptr || of->size() < 2 || (*of)[of->size() - 1] != (*of)[of->size() - 2]) {
    return false;
  }
  if (dims == nullptr || dims->empty() || dims->size() > of->size()) return false;
  if (dims->size() > 1 && !(*dims)[dims->size() - 2].is_constant(1)) return false;
  return dims->back() == of->back() && !MayBeMask(factor, facts);
}

// A product of two computed values, the nodes between it and the scores, the last one first, and
// its elements as they lie in the scores.
struct FoundProduct {
  Node* node = nullptr;
  std::vector<Node*> way = {};
  View view = {};
};

// The operand that a view or a factor that is one number applies to; null for other nodes.
Value* PassedOperand(const Node& node) {
  double number = 1;
  return ops::TraitsOf(node).rearranges ? node.input(0) : ScaledOperand(node, number);
}

// The product that `scores` are, behind factors that are one number and views. Nothing else may
// read a value on the way.
std::optional<FoundProduct> FindProduct(Value* scores, Facts& facts) {
  constexpr size_t kMaxSteps = 8;
  FoundProduct found = {scores->producer()};
  while (found.node != nullptr && !IsProduct(found.node)) {
    Value* operand = PassedOperand(*found.node);
    if (operand == nullptr || found.way.size() == kMaxSteps) return std::nullopt;
    if (found.node->output(0)->consumers().size() != 1) return std::nullopt;
    found.way.push_back(found.node);
    found.node = operand->producer();
  }
  const auto* dims = found.node == nullptr ? nullptr : facts.DimsOf(found.node->output(0));
  if (dims == nullptr) return std::nullopt;
  std::optional<View> view = View::Dense(*dims);
  for (auto node = found.way.rbegin(); node != found.way.rend() && view.has_value(); ++node) {
    if (ops::TraitsOf(**node).rearranges)
      view = ApplyViewNode(**node, *(*node)->output(0), *view, facts);
  }
  if (!view.has_value()) return std::nullopt;
  found.view = *std::move(view);
  return found;
}

// The product of these operands in place of the found one, with what follows it on the way.
Value* Rebuilt(const FoundProduct& found, const std::vector<Value*>& operands, Patch& patch) {
  Value* result = patch.Op("MatMul", operands, {}, found.node->name());
  for (auto node = found.way.rbegin(); node != found.way.rend(); ++node) {
    std::vector<Value*> inputs = (*node)->inputs();
    *absl::c_find(inputs, PassedOperand(**node)) = result;
    result = patch.Again(**node, inputs, (*node)->attributes())[0];
  }
  return result;
}

// The factor of the scores with axes that broadcast to the product; null if it does not fit.
Value* OnProduct(const FoundProduct& found, Value* factor, Patch& patch, Facts& facts) {
  const View product = View::Dense(*facts.DimsOf(found.node->output(0)));
  if (found.view == product) return factor;
  const std::vector<SymInt>* dims = facts.DimsOf(factor);
  if (dims == nullptr || !BroadcastsTo(*dims, found.view.Dims())) return nullptr;
  const auto map = AxisMap::Between(found.view.axes(), product.axes());
  return map.has_value() ? map->Apply(patch, facts, factor, found.node->inputs()) : nullptr;
}

// Moves a factor of the scores that is the same for all keys to the queries, and one for each key
// to the keys.
bool Propose(RuleContext& context, Node* node, Patch& patch) {
  Facts& facts = context.facts;
  const bool divides = IsOp(node, "Div");
  if (!LeadsToSoftmax(*node->output(0))) return false;
  for (const auto& [scores, by] : ScalingsOf(node)) {
    const auto found = FindProduct(scores, facts);
    if (!found.has_value()) continue;
    Value* factor = OnProduct(*found, by, patch, facts);
    const Value* product = found->node->output(0);
    const int rank = facts.RankOf(product);
    if (factor == nullptr || rank < 2) continue;
    const bool by_row = IsByRow(factor, rank, facts);
    if (!by_row && (divides || !IsByColumn(factor, product, facts))) continue;
    std::vector<Value*> operands = found->node->inputs();
    Value*& scaled = operands[by_row ? 0 : 1];
    if (facts.RankOf(scaled) != rank) continue;
    scaled = patch.Op(node->op_type(), {scaled, factor}, {}, node->name());
    patch.Supersede({found->node, node});
    patch.Supersede(found->way);
    if (!patch.Admits({node->output(0)}, nullptr)) return false;
    patch.Replace(node->output(0), Rebuilt(*found, operands, patch));
    return true;
  }
  return false;
}

// True if there is one factor for all keys of a query.
bool IsByQuery(const Value* factor, int rank, Facts& facts) {
  const std::vector<SymInt>* dims = facts.DimsOf(factor);
  if (dims == nullptr || static_cast<int>(dims->size()) > rank) return false;
  return dims->empty() || dims->back().is_constant(1);
}

// True if there is one factor for all queries of each key.
bool IsByKey(const Value* factor, const Value* probabilities, Facts& facts) {
  const std::vector<SymInt>* of = facts.DimsOf(probabilities);
  const std::vector<SymInt>* dims = facts.DimsOf(factor);
  if (of == nullptr || dims == nullptr || dims->empty() || dims->size() > of->size()) return false;
  if (dims->size() > 1 && !(*dims)[dims->size() - 2].is_constant(1)) return false;
  return dims->back() == of->back();
}

// Transposes a factor [.., 1, T] or [T] to [.., T, 1], which multiplies the rows of V.
Value* AsColumn(Value* factor, int rank, Patch& patch) {
  if (rank == 1) return patch.Op("Unsqueeze", {factor, patch.Ints({1})});
  return patch.Op("Transpose", {factor}, {{"perm", SwapOfLastTwo(rank)}});
}

// True if the value comes from a Softmax, perhaps times factors that are still to be moved.
bool AreProbabilities(const Value* value, int steps = 3) {
  const Node* node = value->producer();
  if (IsOp(node, "Softmax")) return true;
  return steps > 0 && absl::c_any_of(ScalingsOf(node), [&](const Scaling& scaling) {
           return AreProbabilities(scaling.scaled, steps - 1);
         });
}

// Moves a factor of the probabilities: one for each query behind the product with V, one for each
// key to V.
bool ProposeBehind(RuleContext& context, Node* matmul, Patch& patch) {
  if (matmul->input(1)->is_constant()) return false;
  Node* node = matmul->input(0)->producer();
  const int rank = context.facts.RankOf(matmul->output(0));
  for (const auto& [probabilities, factor] : ScalingsOf(node)) {
    if (!AreProbabilities(probabilities)) continue;
    if (rank < 2 || context.facts.RankOf(probabilities) != rank) continue;
    const bool behind = IsByQuery(factor, rank, context.facts);
    if (!behind && !IsByKey(factor, probabilities, context.facts)) continue;
    patch.Supersede({node, matmul});
    if (!patch.Admits({matmul->output(0)}, nullptr)) return false;
    const auto by_factor = [&](Value* x, Value* by) {
      return patch.Op(node->op_type(), {x, by}, {}, node->name());
    };
    Value* v = matmul->input(1);
    if (!behind) v = by_factor(v, AsColumn(factor, context.facts.RankOf(factor), patch));
    Value* product = patch.Op("MatMul", {probabilities, v}, {}, matmul->name());
    patch.Replace(matmul->output(0), behind ? by_factor(product, factor) : product);
    return true;
  }
  return false;
}

}  // namespace

extern const Rule kRowFactors = {
    .name = "row_factors",
    .summary = "A factor per row or column of the scores moves to the queries, keys or values",
    .starts = {{{"Mul", Propose}, {"Div", Propose}, {"MatMul", ProposeBehind}}}};

bool LeadsToSoftmax(const Value& scores) {
  constexpr int kMaxSteps = 8;
  const Value* value = &scores;
  for (int step = 0; step < kMaxSteps && value->consumers().size() == 1; ++step) {
    const Node* node = value->consumers()[0];
    if (IsOp(node, "Softmax")) return true;
    const bool passes = ops::TraitsOf(*node).elementwise || IsViewNode(*node);
    if (!passes || node->output(0) == nullptr) return false;
    value = node->output(0);
  }
  return false;
}

}  // namespace attnrun::opt
