// SPDX-License-Identifier: Apache-2.0

// A gated MLP multiplies two products of one input, gate and up, element by element. The two become
// one product, which is faster:
//
//        x                        x
//      /   \                      |
//   Linear  Linear             Linear
//     |       |        ->       /    \          Split of its columns
//   SiLU      |              SiLU     |
//      \     /                  \    /
//        Mul                      Mul

#include <string>

#include "ops/interface/registry.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/projection/merge.h"

namespace attnrun::opt {
namespace {

// Exporters write an activation with fewer nodes. A value that several of them read counts again.
constexpr int kMostVisits = 64;

// The Linear from which one operand of the gate's Mul is computed, through an activation of one
// node or several, such as x * Sigmoid(x).
Node* GateSide(Value* value, int& visits_left) {
  Node* node = value->producer();
  if (node == nullptr || --visits_left < 0) return nullptr;
  if (IsLinear(*node)) return node;
  if (!ops::TraitsOf(*node).elementwise) return nullptr;
  Node* found = nullptr;
  for (Value* input : node->inputs()) {
    if (input == nullptr || input->is_constant()) continue;
    Node* side = GateSide(input, visits_left);
    if (side == nullptr || (found != nullptr && found != side)) return nullptr;
    found = side;
  }
  return found;
}

bool MergeSiblingProjections(RuleContext& context, Node* gate, Patch& patch) {
  int visits_left = kMostVisits;
  Node* a = GateSide(gate->input(0), visits_left);
  Node* b = GateSide(gate->input(1), visits_left);
  std::string why;
  return a != nullptr && b != nullptr && a != b && a->input(0) == b->input(0) &&
         LinearMerger::CanMerge(*a, why) && LinearMerger::CanMerge(*b, why) &&
         LinearMerger(context).Merge({a, b}, *gate, patch);
}

}  // namespace

extern const Rule kSiblingProjection = {.name = "sibling_projection",
                                        .summary = "Gate and up of a gated MLP become one product",
                                        .anchors = {"Mul"},
                                        .propose = MergeSiblingProjections};

}  // namespace attnrun::opt
