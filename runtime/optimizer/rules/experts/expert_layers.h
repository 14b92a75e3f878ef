// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_EXPERTS_EXPERT_LAYERS_H_
#define ATTNRUN_OPTIMIZER_RULES_EXPERTS_EXPERT_LAYERS_H_

#include <array>
#include <optional>
#include <vector>

#include "optimizer/analysis/facts.h"
#include "optimizer/rewrite/patch.h"

namespace attnrun::opt {

// A constant: an initializer, or a part of one, which shares its bytes.
struct ConstantPart {
  Value* whole = nullptr;
  // Undefined if it is all of `whole`.
  Tensor part = {};
  bool defined() const { return whole != nullptr; }
  const Shape& shape() const { return part.defined() ? part.shape() : whole->constant()->shape(); }
};

// A product with a constant matrix, plus a bias.
struct ExpertLayerMatch {
  Value* x = nullptr;
  ConstantPart weight;
  // True if the weight is [N, K].
  bool transposed = false;
  ConstantPart bias;
};

// An expert, as attnrun.Experts computes it from some rows.
struct ExpertMatch {
  Value* rows = nullptr;
  // Layers 1 to 3.
  std::array<ExpertLayerMatch, 3> layers;
  // The number of the expert of each row, by which its constants are gathered; null: they are not.
  Value* numbers = nullptr;
  AttributeMap attributes;
};

// True if the node that computes the value only changed a shape.
bool KeepsOrder(const Value* value);

// `value` before nodes that only changed its shape.
Value* InOrder(Value* value);

// `value` before nodes that only changed its shape and left its last axis as it is.
Value* SameRows(Value* value, Facts& facts);

// The expert whose results are the rows of `value`; nullopt if it is something else. If `stacked`
// is not 0, these are the results of so many experts, the rows of each together, and the constants
// have a first axis for the experts.
std::optional<ExpertMatch> MatchExpert(Value* value, Facts& facts, int64_t stacked = 0);

// The experts whose results are the rows of `value`, where each row is multiplied by constants that
// are gathered for it from those of all experts, which have a first axis for the experts.
std::optional<ExpertMatch> MatchGatheredExperts(Value* value, Facts& facts);

// Adds the constants of one expert, of those that are stacked or, without a number, of the only
// one, to the inputs of an attnrun.Experts.
void AppendLayers(Patch& patch, const ExpertMatch& match, std::optional<int64_t> number,
                  std::vector<Value*>& inputs);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_EXPERTS_EXPERT_LAYERS_H_
