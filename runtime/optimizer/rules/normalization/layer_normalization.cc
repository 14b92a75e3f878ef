// SPDX-License-Identifier: Apache-2.0

// Opsets before 17 lack LayerNormalization, so exporters write it out, over the last axis:
//
//   x -----.                                         x  scale bias
//   |       \                                         \   |   /
//   ReduceMean                          ->      LayerNormalization
//    \      /                                             |
//      Sub ------------------.                            y
//       |                     |
//   Pow(2) or Mul with itself |
//       |                     |
//   ReduceMean, Add epsilon   |
//       |                     |
//      Sqrt ---------------- Div, [Cast], [Mul scale], [Add bias] -> y
//
// The division by the root may be written in any way. TensorFlow writes:
//
//   m = scale / sqrt(mean((x - mean(x))^2) + epsilon);  y = x * m + (bias - mean(x) * m)
//
// and Keras adds bias to -mean(x) * m.
//
// A bias that is added to a norm without one becomes the bias of the norm.

#include "absl/algorithm/container.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/normalization/normalized_rows.h"

namespace attnrun::opt {
namespace {

// The value x if `centered` is x - mean(x), else null. Appends the nodes, including a Cast of the
// difference.
Value* CenteredSource(Value* centered, Facts& facts, MatchedNodes& nodes) {
  Value* x = nullptr;
  Value* averaged = nullptr;
  const Pattern difference = Op("Sub", {Is(&x), MaybeCast(LastAxisMean(Is(&averaged)))});
  if (!difference.Match(centered, facts, nodes)) return nullptr;
  x = BeforeWidening(x, facts);
  return BeforeWidening(averaged, facts) == x ? x : nullptr;
}

// Appends the Casts that read a value that is to be removed.
void AppendCasts(const Value* value, MatchedNodes& nodes) {
  for (Node* reader : value->consumers()) {
    if (reader->op_type() == "Cast" && reader->domain().empty()) nodes.push_back(reader);
  }
}

std::optional<NormalizedRows> FindCentered(RuleContext& context, Node* node) {
  auto rows = FindNormalizedRows(node, context.facts);
  if (!rows.has_value()) return std::nullopt;
  const Value* centered = rows->x;
  rows->x = CenteredSource(rows->x, context.facts, rows->nodes);
  if (rows->x == nullptr) return std::nullopt;
  AppendCasts(centered, rows->nodes);
  TakeRowParameters(context.graph, context.facts, true, *rows);
  return rows;
}

// Rewrites an RMSNormalization of x - mean(x), which some exporters write. A scale that is not the
// same row for all rows stays a factor.
bool FuseCenteredRms(RuleContext& context, Node* rms, Patch& patch) {
  Facts& facts = context.facts;
  const int rank = facts.RankOf(rms->input(0));
  const auto length = facts.Extent(rms->input(0), -1);
  if (rank < 1 || !IsAlongLast(*rms, rank, -1) || length.value_or(0) == 0) return false;
  MatchedNodes nodes = {rms};
  const float epsilon = AttributeOr<float>(*rms, "epsilon", 1e-5F);
  Value* x = CenteredSource(rms->input(0), facts, nodes);
  Value* y = rms->output(0);
  const DataType type = facts.TypeOf(y);
  if (x == nullptr || facts.TypeOf(x) != type || facts.RankOf(x) != rank) return false;
  patch.Supersede(nodes);
  Value* scale = rms->input(1);
  const bool is_row = facts.RankOf(scale) == 1 && facts.Extent(scale, 0) == length;
  Value* row = is_row ? scale : Ones(patch, type, *length);
  Value* norm = patch.Op("LayerNormalization", {x, row},
                         {{"axis", int64_t{-1}}, {"epsilon", epsilon}}, rms->name());
  return patch.Replace(y, is_row ? norm : patch.Op("Mul", {norm, scale}));
}

// Finds x * m + (bias - mean(x) * m), where m = [scale *] inverse root.
std::optional<NormalizedRows> FindShifted(RuleContext& context, Node* node, bool scaled) {
  Facts& facts = context.facts;
  NormalizedRows rows;
  Value* centered = nullptr;
  Value* m = nullptr;
  const Pattern inverse = InverseRoot(&centered, &rows.epsilon);
  const Pattern multiplier = scaled ? Op("Mul", {inverse, Constant(&rows.scale)}) : inverse;
  const Pattern mean = LastAxisMean(Same(&rows.x));
  const Pattern shift = Op("Mul", {mean, Same(&m)});
  const Pattern minus_shift = OneOf({Op("Neg", {shift}), Op("Mul", {Op("Neg", {mean}), Same(&m)})});
  const Pattern product = Op("Mul", {Is(&rows.x), Keep(&m, multiplier)});
  const Pattern bias = Constant(&rows.bias);
  const Pattern rest =
      OneOf({Op("Sub", {bias, shift}), Op("Add", {minus_shift, bias}), minus_shift});
  if (!Op("Add", {product, rest}).Match(node->output(0), facts, rows.nodes)) return std::nullopt;
  if (CenteredSource(centered, facts, rows.nodes) != rows.x) return std::nullopt;
  rows.y = node->output(0);
  return rows;
}

// Finds FindShifted's form, with or without a scale.
std::optional<NormalizedRows> FindSum(RuleContext& context, Node* node) {
  // Most sums have no such product, and need no pattern to say so.
  if (absl::c_none_of(node->inputs(), [](Value* x) { return ProducerOf(x, "Mul") != nullptr; })) {
    return std::nullopt;
  }
  for (const bool scaled : {true, false}) {
    auto rows = FindShifted(context, node, scaled);
    if (!rows.has_value()) continue;
    const int rank = context.facts.RankOf(rows->x);
    const auto length = context.facts.Extent(rows->x, -1);
    if (rank < 1 || rank != context.facts.RankOf(rows->y) || !length.has_value()) continue;
    const auto is_row = [&](const Value* value) {
      return value == nullptr || IsRowParameter(value, *length, rank, context.facts);
    };
    if (is_row(rows->scale) && is_row(rows->bias)) return rows;
  }
  return std::nullopt;
}

bool IsConstantRow(const Value* value) {
  return value != nullptr && value->is_constant() && value->constant()->rank() == 1;
}

// The norm without a bias that computes the value for one reader; null if there is none.
Node* PlainNorm(const RuleContext& context, const Value* value) {
  Node* norm = ProducerOf(value, "LayerNormalization");
  if (norm == nullptr || norm->outputs().size() != 1) return nullptr;
  if (norm->input(2) != nullptr || AttributeOr<int64_t>(*norm, "axis", -1) != -1) return nullptr;
  if (value->consumers().size() != 1 || context.graph.IsOutput(value)) return nullptr;
  return norm;
}

// Adds a bias to a norm that was recognized in an earlier round, when another node stood between.
bool AddBias(RuleContext& context, Node* add, Patch& patch) {
  for (const auto& [normalized, bias] : ReadingsOf(add)) {
    Node* norm = PlainNorm(context, normalized);
    if (norm == nullptr || !IsConstantRow(bias) || !IsConstantRow(norm->input(1))) continue;
    const Tensor& scale = *norm->input(1)->constant();
    if (TypeAndShape(*bias->constant()) != TypeAndShape(scale)) continue;
    return patch.Substitute({norm, add}, add->output(0),
                            patch.Op("LayerNormalization", {norm->input(0), norm->input(1), bias},
                                     norm->attributes(), norm->name()));
  }
  return false;
}

bool FuseSum(RuleContext& context, Node* node, Patch& patch) {
  if (AddBias(context, node, patch)) return true;
  const auto rows = FindSum(context, node);
  return rows.has_value() && ReplaceRows(context, patch, *node, "LayerNormalization", *rows);
}

bool FuseCentered(RuleContext& context, Node* node, Patch& patch) {
  const auto rows = FindCentered(context, node);
  return rows.has_value() && ReplaceRows(context, patch, *node, "LayerNormalization", *rows);
}

}  // namespace

extern const Rule kLayerNormalization = {
    .name = "layer_normalization",
    .summary = "Mean, variance, scale and bias written out become LayerNormalization",
    .starts = {{{"Add", FuseSum},
                {"Mul", FuseCentered},
                {"Div", FuseCentered},
                {"LayerNormalization", ScaleByReader},
                {"RMSNormalization", FuseCenteredRms}}}};

}  // namespace attnrun::opt
