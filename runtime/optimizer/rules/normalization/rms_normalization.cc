// SPDX-License-Identifier: Apache-2.0

// Llama-like models normalize rows by their root mean square. Opsets before 23 lack
// RMSNormalization, so exporters write it out, over the last axis:
//
//   [Cast to float]                                   x  scale
//      x ---------------.                              \  /
//      |                 |                       RMSNormalization
//   Pow(2) or Mul with itself              ->             |
//      |                 |                                y
//   ReduceMean, Add epsilon
//      |                 |
//   Sqrt, Reciprocal -- Mul, [Cast back], [Mul scale] -> y
//
// The division by the root may be written in any way, and the scale may multiply the root's inverse
// first. Rows of 16-bit floats need no Cast: the operator computes in float.

#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/normalization/normalized_rows.h"

namespace attnrun::opt {
namespace {

// A norm of heads may read them as rows [B, S * N, H] of x [B, S, N * H]. The Reshape is changed so
// that heads keep an axis of their own; other rules can then normalize them in the rows of x.
bool KeepHeadsApart(Facts& facts, Node* norm, Patch& patch) {
  const Node* reshape = ProducerOf(norm->input(0), "Reshape");
  if (reshape == nullptr || facts.RankOf(norm->input(1)) != 1) return false;
  Value* x = reshape->input(0);
  const auto size = facts.Extent(norm->input(0), -1);
  const auto width = facts.Extent(x, -1);
  if (facts.RankOf(x) != 3 || size.value_or(0) < 1 || width.value_or(0) % *size != 0) return false;
  const int64_t heads = *width / *size;
  const std::vector<int64_t> numbered = {0, -1, *size};
  if (heads < 2 || !IsAlongLast(*norm, 3, -1) || IntsOf(reshape->input(1)) != numbered)
    return false;
  if (AttributeOr<int64_t>(*reshape, "allowzero", 0) != 0) return false;
  AttributeMap attributes = norm->attributes();
  attributes["axis"] = int64_t{-1};
  Value* apart = patch.Op("Reshape", {x, patch.Ints({0, 0, heads, *size})});
  Value* y = patch.Op("RMSNormalization", {apart, norm->input(1)}, attributes, norm->name());
  return patch.Substitute(norm, patch.Op("Reshape", {y, patch.Ints(numbered)}));
}

bool ChangeNorm(RuleContext& context, Node* node, Patch& patch) {
  return KeepHeadsApart(context.facts, node, patch) || ScaleByReader(context, node, patch);
}

bool FuseRmsNormalization(RuleContext& context, Node* node, Patch& patch) {
  auto rows = FindNormalizedRows(node, context.facts);
  if (!rows.has_value()) return false;
  TakeRowParameters(context.graph, context.facts, false, *rows);
  return ReplaceRows(context, patch, *node, "RMSNormalization", *rows);
}

}  // namespace

extern const Rule kRmsNormalization = {
    .name = "rms_normalization",
    .summary = "A root mean square written out becomes RMSNormalization",
    .starts = {{{"Mul", FuseRmsNormalization},
                {"Div", FuseRmsNormalization},
                {"RMSNormalization", ChangeNorm}}}};

}  // namespace attnrun::opt
