// SPDX-License-Identifier: Apache-2.0

// Opsets before 14 lack HardSwish, so exporters write it out:
//
//   x -------------.                   x
//   |               |                  |
//   Add 3           |              HardSwish
//   |               |       ->         |
//   Clip(0, 6) --- Mul, Div 6 -> y     y
//
// or as x * HardSigmoid(x) with alpha = 1/6 and beta = 1/2. Where the gate multiplies something
// else, it becomes HardSigmoid:
//
//   Clip(x + 3, 0, 6) / 6   ->   HardSigmoid(x) {alpha = 1/6, beta = 1/2}

#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/activation/gated_input.h"

namespace attnrun::opt {
namespace {

constexpr double kSixth = 1.0 / 6;
constexpr Cubic kClipArgument = {3, 1};
constexpr Cubic kSigmoidArgument = {0.5, kSixth};

// True for Clip(.., 0, 6) of floats.
bool ClipsToSix(const Node& clip, Facts& facts) {
  if (!IsFloatingPoint(facts.TypeOf(clip.input(0)))) return false;
  const auto bounds = ClipBoundsOf(clip);
  return bounds.has_value() && bounds->least == 0.0 && bounds->most == 6.0;
}

bool FuseClip(RuleContext& context, Node* clip, Patch& patch) {
  if (!ClipsToSix(*clip, context.facts)) return false;
  for (const GatedInput& gated : FindGatedInputs(clip, 0, kSixth, context.facts)) {
    const DataType type = context.facts.TypeOf(gated.x);
    if (!IsClose(gated.coefficient, kSixth, type)) continue;
    if (!IsClose(gated.polynomial, kClipArgument, type)) continue;
    return ReplaceGatedInput(context, patch, *clip, gated, "HardSwish", {});
  }
  return false;
}

bool FuseHardSigmoid(RuleContext& context, Node* node, Patch& patch) {
  const double alpha = AttributeOr(*node, "alpha", 0.2F);
  const double beta = AttributeOr(*node, "beta", 0.5F);
  for (const GatedInput& gated : FindGatedInputs(node, 0, 1, context.facts)) {
    const DataType type = context.facts.TypeOf(gated.x);
    Cubic argument = gated.polynomial;
    for (double& coefficient : argument) coefficient *= alpha;
    argument[0] += beta;
    if (!IsClose(gated.coefficient, 1, type) || !IsClose(argument, kSigmoidArgument, type))
      continue;
    return ReplaceGatedInput(context, patch, *node, gated, "HardSwish", {});
  }
  return false;
}

bool WriteHardSigmoid(RuleContext& context, Node* clip, Patch& patch) {
  Node* sum = ProducerOf(clip->input(0), "Add");
  Node* sixth = OnlyReader(context.graph, clip->output(0));
  if (!ClipsToSix(*clip, context.facts) || sum == nullptr || sixth == nullptr) return false;
  double factor = 1;
  const DataType type = context.facts.TypeOf(clip->output(0));
  if (ScaledOperand(*sixth, factor) != clip->output(0) || !IsClose(factor, kSixth, type))
    return false;
  const int side = ScalarOf(sum->input(0)) == 3.0 ? 1 : 0;
  Value* x = sum->input(side);
  if (ScalarOf(sum->input(1 - side)) != 3.0) return false;
  // Constants with more axes than x would add axes to the result.
  const int rank = context.facts.RankOf(x);
  if (rank < 0 || rank != context.facts.RankOf(sixth->output(0))) return false;
  return patch.Substitute(
      {clip, sixth}, sixth->output(0),
      patch.Op("HardSigmoid", {x}, {{"alpha", static_cast<float>(kSixth)}, {"beta", 0.5F}},
               clip->name()));
}

}  // namespace

extern const Rule kHardSwish = {
    .name = "hard_swish",
    .summary = "x * Clip(x + 3, 0, 6) / 6 and x * HardSigmoid(x) become HardSwish",
    .starts = {{{"Clip", FuseClip}, {"HardSigmoid", FuseHardSigmoid}}}};

extern const Rule kHardSigmoid = {.name = "hard_swish",
                                  .summary = "Clip(x + 3, 0, 6) / 6 becomes HardSigmoid",
                                  .anchors = {"Clip"},
                                  .propose = WriteHardSigmoid};

}  // namespace attnrun::opt
