// SPDX-License-Identifier: Apache-2.0

// Exporters often expand an operand explicitly before an operator that broadcasts anyway. Such
// operators read their operands as they are before the Expand, or before leading axes of extent 1
// were added, where the result keeps its extents:
//
//   Div(x, Expand(y, Shape(x)))             ->  Div(x, y)
//   Min(x, ConstantOfShape(Shape(x)) {3})   ->  Min(x, 3)
//   Mul(x, constant [N, 1, 1] of 3)         ->  Mul(x, 3)
//
// GatherElements does not broadcast, so exports of DeBERTa repeat the indices of positions for all
// samples and heads; TakeAlongAxis does:
//
//   GatherElements(x [N, S, P], Expand(i [1, S, T], [N, S, T])) {axis = 2}  ->  TakeAlongAxis(x, i)
//
// The remaining ones are written in one way:
//
//   Expand(3, shape)                        ->  ConstantOfShape(shape) {3}
//   Tile(x: [.., 1], [1, 4])                ->  Expand(x, [1, 4])
//   Add(constant, Expand(constant, shape))  ->  Expand(constant, shape)
//   Mul(ConstantOfShape(shape) {1}, -1e9)   ->  ConstantOfShape(shape) {-1e9}

#include <cmath>
#include <utility>

#include "core/elements.h"
#include "ops/interface/registry.h"
#include "optimizer/analysis/broadcasting.h"
#include "optimizer/analysis/conditions.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {
namespace {

// The extents of the result if the input at index `changed` had extents `dims`.
std::optional<std::vector<SymInt>> ResultWith(const std::vector<Value*>& inputs, size_t changed,
                                              const std::vector<SymInt>& dims, Facts& facts) {
  std::optional<std::vector<SymInt>> result = std::vector<SymInt>();
  for (size_t i = 0; i < inputs.size(); ++i) {
    result = ops::BroadcastDims(result, i == changed ? dims : facts.Of(inputs[i]).dims);
  }
  return result;
}

// The number that all elements equal in every run; covers views, conditions cast to numbers, a
// Where whose condition is known, and zeros where a condition holds, as tf2onnx writes its Select.
std::optional<double> NumberOf(Value* value, Facts& facts) {
  const Node* node = value->producer();
  if (IsOp(node, "Where")) {
    const auto condition = KnownCondition(node->input(0), facts);
    return condition.has_value() ? UniformOf(node->input(*condition ? 1 : 2)) : std::nullopt;
  }
  for (const auto& [condition, number] : ScalingsOf(ProducerOf(value, "Mul"))) {
    if (ConditionOf(condition, facts) != nullptr && UniformOf(number) == 0.0) return 0;
  }
  if (Value* cast = ConditionOf(value, facts)) {
    const auto condition = KnownCondition(cast, facts);
    return condition.has_value() ? std::optional<double>(*condition ? 1 : 0) : std::nullopt;
  }
  return UniformOf(value);
}

// True if the value is a constant with a factor for each row, as the scales of heads are. Those for
// each channel stay: they belong to a normalization.
bool ScalesRows(const Node& node, const Value* value) {
  const Tensor* const factors = value->constant();
  return !ScalingsOf(&node).empty() && IsFloatingPoint(factors->type()) &&
         factors->num_elements() > 1 && factors->shape().back() == 1;
}

// A constant of rank 0 in place of a tensor of equal elements, if the result keeps its extents;
// else null.
Value* AsNumber(Patch& patch, Facts& facts, const Node& node, const std::vector<Value*>& inputs,
                size_t i, const std::vector<SymInt>& dims) {
  Value* input = inputs[i];
  if (input->is_constant() && !ScalesRows(node, input)) return nullptr;
  const auto number = NumberOf(input, facts);
  const DataType type = facts.TypeOf(input);
  if (!number.has_value() || type == DataType::kBool) return nullptr;
  // A double does not hold every larger integer.
  constexpr double kMaxExact = 1ll << 53;
  if (IsInteger(type) && !(std::abs(*number) < kMaxExact)) return nullptr;
  if (ResultWith(inputs, i, {}, facts) != dims) return nullptr;
  return patch.Number(input->name(), type, *number);
}

bool DropAt(Facts& facts, Node* node, Patch& patch) {
  const std::vector<SymInt>* known = facts.DimsOf(node->output(0));
  if (known == nullptr) return false;
  const std::vector<SymInt> dims = *known;
  std::vector<Value*> inputs = node->inputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    inputs[i] = BroadcastSource(inputs[i], facts, [&](const std::vector<SymInt>& from) {
      return ResultWith(inputs, i, from, facts) == dims;
    });
    Value* number = AsNumber(patch, facts, *node, inputs, i, dims);
    if (number != nullptr) inputs[i] = number;
  }
  if (inputs == node->inputs()) return false;
  return patch.Rewrite(node, inputs, node->attributes());
}

// Rewrites a GatherElements along the last axis by indices that were expanded to TakeAlongAxis.
bool TakeAlongAxis(RuleContext& context, Node* node, Patch& patch) {
  Facts& facts = context.facts;
  const std::vector<SymInt>* data = facts.DimsOf(node->input(0));
  const std::vector<SymInt>* indices = facts.DimsOf(node->input(1));
  if (data == nullptr || indices == nullptr || data->empty() || indices->empty()) return false;
  if (!IsAlongLast(*node, static_cast<int>(data->size()))) return false;
  // GatherElements allows fewer indices than rows of the data; broadcasting does not.
  std::vector<SymInt> shape = *data;
  shape.back() = indices->back();
  if (*indices != shape) return false;
  Value* source = BroadcastSource(node->input(1), facts, [&](const std::vector<SymInt>& dims) {
    return !dims.empty() && dims.back() == shape.back() && BroadcastsTo(dims, shape);
  });
  if (source == node->input(1)) return false;
  return patch.Substitute(node, "attnrun::TakeAlongAxis", {node->input(0), source});
}

// The constant that an Expand or a ConstantOfShape repeats; null for anything else. Sets the shape
// to which it is expanded.
Value* Repeated(const Value* value, Patch& patch, Value*& shape) {
  const Node* const node = value->producer();
  if (IsOp(node, "Expand") && node->input(0)->is_constant()) {
    shape = node->input(1);
    return node->input(0);
  }
  if (!IsOp(node, "ConstantOfShape")) return nullptr;
  shape = node->input(0);
  const auto filling = FillingOf(*node);
  return filling.ok() ? patch.Constant(value->name(), *filling) : nullptr;
}

// Computes an operator on constants, one of which is expanded, before the Expand: Expand broadcasts
// in both directions, as the operator does.
bool ExpandLater(Node* node, Patch& patch) {
  if (!ops::TraitsOf(*node).elementwise) return false;
  std::vector<Value*> inputs = node->inputs();
  Value* shape = nullptr;
  for (Value*& input : inputs) {
    if (input == nullptr) return false;
    if (input->is_constant()) continue;
    if (shape != nullptr) return false;
    input = Repeated(input, patch, shape);
    if (input == nullptr) return false;
  }
  if (shape == nullptr) return false;
  Value* small = patch.Again(*node, inputs, node->attributes())[0];
  return patch.Substitute(node, patch.Op("Expand", {small, shape}));
}

// Rewrites an Expand of a number to a ConstantOfShape.
bool FillByConstant(RuleContext& context, Node* expand, Patch& patch) {
  if (expand->input(1)->is_constant()) return false;
  Value* number = expand->input(0);
  const auto rank = context.facts.Extent(expand->input(1), 0);
  if (!ScalarOf(number).has_value() || number->constant()->rank() > rank.value_or(-1)) return false;
  auto value = number->constant()->Reshaped({1});
  if (!value.ok()) return false;
  return patch.Substitute(expand, "ConstantOfShape", {expand->input(1)},
                          {{"value", *std::move(value)}});
}

// Rewrites a Tile of axes of extent 1 to an Expand.
bool ExpandTiled(RuleContext& context, Node* tile, Patch& patch) {
  const auto repeats = KnownInts(tile->input(1), context.facts);
  const std::vector<SymInt>* dims = context.facts.DimsOf(tile->input(0));
  if (!repeats.has_value() || dims == nullptr || dims->size() != repeats->size()) return false;
  for (size_t i = 0; i < repeats->size(); ++i) {
    if ((*repeats)[i] != 1 && !(*dims)[i].is_constant(1)) return false;
  }
  return patch.Substitute(tile, "Expand", {tile->input(0), patch.Ints(*repeats)});
}

bool DropBroadcasts(RuleContext& context, Node* node, Patch& patch) {
  return (ops::TraitsOf(*node).broadcasts && DropAt(context.facts, node, patch)) ||
         ExpandLater(node, patch);
}

}  // namespace

extern const Rule kBroadcasts = {
    .name = "broadcasts",
    .summary = "An operator that broadcasts reads its operand before it was expanded",
    .propose = DropBroadcasts,
    .starts = {{{"GatherElements", TakeAlongAxis},
                {"Expand", FillByConstant},
                {"Tile", ExpandTiled}}},
    .aliases = {"take_along_axis"}};

}  // namespace attnrun::opt
