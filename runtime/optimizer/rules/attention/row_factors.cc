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

#include <vector>

#include "absl/algorithm/container.h"
#include "optimizer/analysis/broadcasting.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/axis_map.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/attention/ways.h"

namespace attnrun::opt {
namespace {

// True if there is one factor for each row of a product of these extents.
bool IsPerRow(const Value* factor, const std::vector<SymInt>& of, Facts& facts) {
  const std::vector<SymInt>* dims = facts.DimsOf(factor);
  if (dims == nullptr || dims->size() > of.size()) return false;
  return dims->empty() || dims->back().is_constant(1);
}

// True if there is one factor for each column.
bool IsPerColumn(const Value* factor, const std::vector<SymInt>& of, Facts& facts) {
  const std::vector<SymInt>* dims = facts.DimsOf(factor);
  if (dims == nullptr || dims->empty() || dims->size() > of.size()) return false;
  if (dims->size() > 1 && !(*dims)[dims->size() - 2].is_constant(1)) return false;
  return dims->back() == of.back();
}

// True if the factor is a bool cast to numbers, or constant: it may be a mask of keys.
bool MayBeMask(Value* factor, Facts& facts) {
  const Value* source = Trace(factor, facts).back().base;
  return source->is_constant() || ConditionOf(source, facts) != nullptr;
}

// The product of these operands in place of the found one, with what follows it on the way.
Value* Rebuilt(const Source& product, const std::vector<Value*>& operands, Patch& patch) {
  return Repeated(product, patch.Op("MatMul", operands, {}, product.node->name()), patch);
}

// The factor of the scores with axes that broadcast to the product; null if it does not fit.
Value* OnProduct(const Source& found, Value* factor, Patch& patch, Facts& facts) {
  const View product = View::Dense(*facts.DimsOf(found.node->output(0)));
  if (found.view == product) return factor;
  const std::vector<SymInt>* dims = facts.DimsOf(factor);
  if (dims == nullptr || !BroadcastsTo(*dims, found.view.Dims())) return nullptr;
  const auto map = AxisMap::Between(found.view.axes(), product.axes());
  return map.has_value() ? map->Apply(patch, factor, found.node->inputs()) : nullptr;
}

// Moves a factor of the scores that is the same for all keys to the queries, and one for each key
// to the keys, unless there may be many of these for each query.
bool Propose(RuleContext& context, Node* node, Patch& patch) {
  Facts& facts = context.facts;
  if (!LeadsToSoftmax(*node->output(0))) return false;
  for (const auto& [scores, by] : ScalingsOf(node)) {
    const auto found = FindSource(scores, context, IsMatMulOfComputed);
    if (!found.has_value()) continue;
    Value* factor = OnProduct(*found, by, patch, facts);
    const std::vector<SymInt>& dims = *facts.DimsOf(found->node->output(0));
    if (factor == nullptr || dims.size() < 2) continue;
    // A single number can stay where it is.
    const bool by_row = IsPerRow(factor, dims, facts) && !UniformOf(factor).has_value();
    const bool by_column = IsPerColumn(factor, dims, facts) && dims[dims.size() - 2] == dims.back();
    if (!by_row && (IsDivOrSub(node) || !by_column || MayBeMask(factor, facts))) continue;
    std::vector<Value*> operands = found->node->inputs();
    Value*& scaled = operands[by_row ? 0 : 1];
    if (facts.RankOf(scaled) != std::ssize(dims)) continue;
    scaled = patch.Op(node->op_type(), {scaled, factor}, {}, node->name());
    patch.Supersede(found->nodes());
    return patch.Substitute(node, Rebuilt(*found, operands, patch));
  }
  return false;
}

// Transposes a factor [.., 1, T] or [T] to [.., T, 1], which multiplies the rows of V.
Value* AsColumn(Value* factor, int rank, Patch& patch) {
  if (rank == 1) return patch.Op("Unsqueeze", {factor, patch.Ints({1})});
  return patch.SwapLastTwo(factor);
}

// True if the value comes from a Softmax, perhaps times factors that are still to be moved.
bool AreProbabilities(const Value* value, int steps = 3) {
  const Node* node = value->producer();
  if (IsOp(node, "Softmax")) return true;
  return steps > 0 && absl::c_any_of(ScalingsOf(node), [&](const Operands& scaling) {
           return AreProbabilities(scaling.first, steps - 1);
         });
}

// Moves a factor of the probabilities: one for each query behind the product with V, one for each
// key to V.
bool ProposeBehind(RuleContext& context, Node* matmul, Patch& patch) {
  if (matmul->input(1)->is_constant()) return false;
  Node* node = matmul->input(0)->producer();
  Facts& facts = context.facts;
  for (const auto& [probabilities, factor] : ScalingsOf(node)) {
    const std::vector<SymInt>* dims = facts.DimsOf(probabilities);
    if (dims == nullptr || dims->size() < 2 || !AreProbabilities(probabilities)) continue;
    if (facts.RankOf(matmul->output(0)) != std::ssize(*dims)) continue;
    const bool behind = IsPerRow(factor, *dims, facts);
    if (!behind && !IsPerColumn(factor, *dims, facts)) continue;
    patch.Supersede({node, matmul});
    const auto by_factor = [&](Value* x, Value* by) {
      return patch.Op(node->op_type(), {x, by}, {}, node->name());
    };
    Value* v = matmul->input(1);
    if (!behind) v = by_factor(v, AsColumn(factor, facts.RankOf(factor), patch));
    Value* product = patch.Op("MatMul", {probabilities, v}, {}, matmul->name());
    return patch.Replace(matmul->output(0), behind ? by_factor(product, factor) : product) &&
           patch.CanApply();
  }
  return false;
}

}  // namespace

extern const Rule kRowFactors = {
    .name = "row_factors",
    .summary = "A factor per row or column of the scores moves to the queries, keys or values",
    .starts = {{{"Mul", Propose}, {"Div", Propose}, {"MatMul", ProposeBehind}}}};

}  // namespace attnrun::opt
