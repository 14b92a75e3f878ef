// SPDX-License-Identifier: Apache-2.0

// DeBERTa adds to its attention scores of queries with embeddings of the keys' relative positions,
// and of keys with those of the queries'. One operator computes both and stores only their sum:
//
//   q   Transpose(r)           k   Transpose(r')
//    \  /                       \  /
//   MatMul   i                 MatMul   i'
//        \  /                       \  /
//    TakeAlongAxis              TakeAlongAxis          q  r  i  k  r'  i'
//         |                          |                  \  \  \ |  /  /
//    Div by c                   Transpose       ->      RelativeScores
//          \                        /                   {scales = [1/c, 1/c],
//           \                  Div by c                  transposed = [0, 1]}
//            \                  /
//             +------ Add -----+

#include <cmath>
#include <vector>

#include "absl/algorithm/container.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {
namespace {

bool IsRelativeScores(const Node* node) {
  return node != nullptr && node->qualified_op_type() == "attnrun.RelativeScores";
}

// The RelativeScores that computes the value, if it has one reader; else null.
Node* OwnScores(const Value* value) {
  Node* node = value == nullptr ? nullptr : value->producer();
  return IsRelativeScores(node) && value->consumers().size() == 1 ? node : nullptr;
}

// The terms that one RelativeScores adds up.
struct Terms {
  std::vector<Value*> inputs;
  std::vector<float> scales;
  std::vector<int64_t> transposed;

  void Append(const Node& node) {
    inputs.insert(inputs.end(), node.inputs().begin(), node.inputs().end());
    const auto more = AttributeOr<std::vector<float>>(node, "scales", {});
    scales.insert(scales.end(), more.begin(), more.end());
    const auto more_transposed = AttributeOr<std::vector<int64_t>>(node, "transposed", {});
    transposed.insert(transposed.end(), more_transposed.begin(), more_transposed.end());
  }

  Value* Make(Patch& patch, const Node& anchor) const {
    AttributeMap attributes;
    attributes["scales"] = scales;
    attributes["transposed"] = transposed;
    return patch.Op("attnrun::RelativeScores", inputs, attributes, anchor.name());
  }
};

// Replaces `node`, and `scores`, which no other node may read, by the RelativeScores of these
// terms.
bool ReplaceBy(const Terms& terms, Node* node, absl::Span<Node* const> scores, Patch& patch) {
  patch.Supersede(scores);
  return patch.Substitute(node, terms.Make(patch, *scores[0]));
}

// The input of a Tile that repeats the value along the first axis; else the value itself. The
// operator repeats positions by itself.
Value* WithoutRounds(Value* value, Facts& facts) {
  const Node* node = value->producer();
  if (!IsOp(node, "Tile")) return value;
  const ops::ValueFacts& repeats = facts.Of(node->input(1));
  if (!repeats.contents.has_value() || repeats.contents->size() != 3) return value;
  const bool rounds = absl::c_all_of(absl::MakeSpan(*repeats.contents).subspan(1),
                                     [](const SymInt& times) { return times.is_constant(1); });
  return rounds ? node->input(0) : value;
}

// The number of matrices in a stack: the product of all extents except the last two.
SymInt Matrices(const std::vector<SymInt>& dims) { return Product({dims.begin(), dims.end() - 2}); }

// True if matrix m of x meets matrix m mod n of the positions: the positions' leading axes are the
// last leading axes of x, or the positions were tiled along the one leading axis of x.
bool TakeTurns(const std::vector<SymInt>& x, const std::vector<SymInt>& positions, bool tiled) {
  absl::Span<const SymInt> leading(positions.data(), positions.size() - 2);
  while (!leading.empty() && leading.front().is_constant(1)) leading.remove_prefix(1);
  absl::Span<const SymInt> of_x(x.data(), x.size() - 2);
  if (tiled) return of_x.size() == 1;
  return leading.size() <= of_x.size() && of_x.last(leading.size()) == leading;
}

bool FuseProduct(RuleContext& context, Node* node, Patch& patch) {
  Facts& facts = context.facts;
  Node* product = node->input(0)->producer();
  if (!IsOp(product, "MatMul") || product->output(0)->consumers().size() != 1) return false;
  Value* x = product->input(0);
  Value* columns = product->input(1);
  const std::vector<SymInt>* x_dims = facts.DimsOf(x);
  const std::vector<SymInt>* to = facts.DimsOf(product->output(0));
  const int rank = facts.RankOf(columns);
  if (x_dims == nullptr || to == nullptr || x_dims->size() < 3 || rank < 2) return false;
  if (facts.TypeOf(x) != DataType::kFloat || to->size() != x_dims->size()) return false;
  const auto swap = SwapOfLastTwo(rank);
  const bool transposed = IsTranspose(columns->producer(), swap);
  Value* tiled = transposed ? columns->producer()->input(0) : columns;
  Value* positions = transposed ? WithoutRounds(tiled, facts) : tiled;
  // A product that broadcasts x is not covered.
  if (Matrices(*to) != Matrices(*x_dims)) return false;
  const std::vector<SymInt>* dims = facts.DimsOf(positions);
  if (dims == nullptr || !TakeTurns(*x_dims, *dims, positions != tiled)) return false;
  patch.Supersede({node, product});
  if (!transposed) positions = patch.Op("Transpose", {columns}, {{"perm", swap}});
  const Terms terms = {{x, positions, node->input(1)}, {1}, {0}};
  return patch.Replace(node->output(0), terms.Make(patch, *node));
}

// Makes a factor of the scores a part of each term's scale.
bool FuseFactor(RuleContext& /*context*/, Node* node, Patch& patch) {
  double factor = 1;
  const Value* scaled = ScaledOperand(*node, factor);
  Node* scores = OwnScores(scaled);
  if (scores == nullptr || !std::isfinite(static_cast<float>(factor))) return false;
  Terms terms;
  terms.Append(*scores);
  for (float& scale : terms.scales) scale = static_cast<float>(scale * factor);
  return ReplaceBy(terms, node, {scores}, patch);
}

bool FuseTranspose(RuleContext& context, Node* node, Patch& patch) {
  Node* scores = OwnScores(node->input(0));
  const int rank = context.facts.RankOf(node->input(0));
  if (scores == nullptr || rank < 2 || !IsTranspose(node, SwapOfLastTwo(rank))) return false;
  Terms terms;
  terms.Append(*scores);
  for (int64_t& transposed : terms.transposed) transposed = transposed == 0 ? 1 : 0;
  return ReplaceBy(terms, node, {scores}, patch);
}

bool FuseSum(RuleContext& context, Node* node, Patch& patch) {
  Facts& facts = context.facts;
  Node* a = OwnScores(node->input(0));
  Node* b = OwnScores(node->input(1));
  if (a == nullptr || b == nullptr || a == b) return false;
  const std::vector<SymInt>* dims = facts.DimsOf(a->output(0));
  if (dims == nullptr || facts.DimsOf(b->output(0)) == nullptr) return false;
  if (*dims != *facts.DimsOf(b->output(0))) return false;
  Terms terms;
  terms.Append(*a);
  terms.Append(*b);
  constexpr size_t kMost = 8;
  return terms.scales.size() <= kMost && ReplaceBy(terms, node, {a, b}, patch);
}

}  // namespace

extern const Rule kRelativeScores = {
    .name = "relative_scores",
    .summary = "Scores by relative position, as in DeBERTa, become attnrun.RelativeScores",
    .starts = {{{"attnrun.TakeAlongAxis", FuseProduct},
                {"Div", FuseFactor},
                {"Mul", FuseFactor},
                {"Transpose", FuseTranspose},
                {"Add", FuseSum}}}};

}  // namespace attnrun::opt
