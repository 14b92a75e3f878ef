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
// A factor that is the same for all queries, such as an integer mask that is not known to hold only
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
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/rule.h"

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

// A product and the number it may be scaled by before it is multiplied once more.
struct ScaledProduct {
  Node* product = nullptr;
  Node* scale = nullptr;
  Value* scaled = nullptr;
};

std::optional<ScaledProduct> FindProduct(const Value* scores) {
  Node* scale = scores->producer();
  double number = 1;
  Value* inner = scale == nullptr ? nullptr : ScaledOperand(*scale, number);
  if (inner == nullptr)
    return IsProduct(scale) ? std::optional(ScaledProduct{scale}) : std::nullopt;
  if (!IsProduct(inner->producer())) return std::nullopt;
  return ScaledProduct{inner->producer(), scale, inner};
}

// Writes the product of these operands in place of `found` and of the factor at `node`. A scale is
// then applied last.
bool Rebuild(const ScaledProduct& found, Node* node, Value* left, Value* right, Patch& patch) {
  patch.Supersede({found.product, node});
  if (found.scale != nullptr) patch.Supersede({found.scale});
  if (!patch.Admits({node->output(0)}, nullptr)) return false;
  Value* result = patch.Op("MatMul", {left, right}, {}, found.product->name());
  if (found.scale != nullptr) {
    std::vector<Value*> operands = found.scale->inputs();
    operands[operands[0] == found.scaled ? 0 : 1] = result;
    result = patch.Op(found.scale->op_type(), operands, {}, found.scale->name());
  }
  patch.Replace(node->output(0), result);
  return true;
}

// Moves a factor for each key of the scores to the keys.
bool ProposeColumns(RuleContext& context, Node* node, Patch& patch) {
  if (!LeadsToSoftmax(*node->output(0))) return false;
  for (const auto& [scores, factor] : ScalingsOf(node)) {
    const auto found = FindProduct(scores);
    if (!found.has_value() || !IsByColumn(factor, scores, context.facts)) continue;
    Node* product = found->product;
    if (context.facts.RankOf(product->input(1)) != context.facts.RankOf(scores)) continue;
    Value* keys = patch.Op("Mul", {product->input(1), factor}, {}, node->name());
    return Rebuild(*found, node, product->input(0), keys, patch);
  }
  return false;
}

// Moves a factor for each query of the scores to the queries.
bool ProposeRows(RuleContext& context, Node* node, Patch& patch) {
  for (const auto& [scores, factor] : ScalingsOf(node)) {
    const auto found = FindProduct(scores);
    if (!found.has_value()) continue;
    Node* product = found->product;
    const int rank = context.facts.RankOf(product->output(0));
    if (rank < 2 || context.facts.RankOf(product->input(0)) != rank) continue;
    if (!IsByRow(factor, rank, context.facts) || !LeadsToSoftmax(*node->output(0))) continue;
    Value* rows = patch.Op(node->op_type(), {product->input(0), factor}, {}, node->name());
    return Rebuild(*found, node, rows, product->input(1), patch);
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

bool ProposeEither(RuleContext& context, Node* node, Patch& patch) {
  return ProposeRows(context, node, patch) || ProposeColumns(context, node, patch);
}

}  // namespace

extern const Rule kRowFactors = {
    .name = "row_factors",
    .summary = "A factor per row or column of the scores moves to the queries, keys or values",
    .starts = {{{"Mul", ProposeEither}, {"Div", ProposeRows}, {"MatMul", ProposeBehind}}}};

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
