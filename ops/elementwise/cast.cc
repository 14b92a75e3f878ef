// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise/cast.h"

#include "ops/interface/axis_rules.h"

namespace attnrun::ops {
namespace {

CastRules Rules(AttributeReader& attributes) {
  CastRules rules;
  if (attributes.version() >= 19) rules.saturate = attributes.Int("saturate", 1) != 0;
  if (attributes.version() >= 24) {
    rules.round_mode = attributes.OneOf("round_mode", "up", {"up", "down", "nearest"});
  }
  return rules;
}

std::unique_ptr<Cast> MakeCast(AttributeReader& attributes) {
  attributes.Required<int64_t>("to");
  const DataType to = attributes.ElementType("to", DataType::kFloat);
  return std::make_unique<Cast>(to, Rules(attributes));
}

std::unique_ptr<Cast> MakeCastLike(AttributeReader& attributes) {
  return std::make_unique<Cast>(DataType::kUndefined, Rules(attributes));
}

bool HoldsExtents(DataType type) { return type == DataType::kInt64 || type == DataType::kInt32; }

// An integer or bool as another type. Extents are assumed to fit 32 bits, as tf2onnx assumes.
SymInt CastElement(const SymInt& x, DataType to) {
  const std::optional<int64_t> number = x.constant();
  if (to == DataType::kBool)
    return number.has_value() ? SymInt(*number != 0 ? 1 : 0) : SymInt::Unknown();
  if (to == DataType::kInt32 && number.has_value()) return static_cast<int32_t>(*number);
  return x;
}

}  // namespace

void Cast::Infer(InferContext& context) const {
  const ValueFacts& x = context.input(0);
  ValueFacts y{to_ != DataType::kUndefined ? to_ : context.input(1).type, x.dims, std::nullopt};
  const auto counts = [](DataType type) { return HoldsExtents(type) || type == DataType::kBool; };
  if (x.contents.has_value() && counts(x.type) && counts(y.type)) {
    y.contents.emplace();
    for (const SymInt& element : *x.contents) {
      y.contents->push_back(x.type == y.type ? element : CastElement(element, y.type));
    }
  }
  context.SetOutput(0, std::move(y));
}

// CastLike reads only the type of its second input.
void Cast::Axes(AxesContext& context) const {
  AddSameAxes(context, [](size_t) { return true; });
}

void RegisterCast(OpRegistry& registry) {
  registry.Register({.domain = "",
                     .name = "Cast",
                     .since = {6, 9, 13, 19, 21, 23, 24, 25, 28},
                     .inputs = {1, 1},
                     .outputs = {1, 1},
                     .make = MakeCast,
                     .traits = kElementwise | SameSince(13)});
  registry.Register({.domain = "",
                     .name = "CastLike",
                     .since = {15, 19, 21, 23, 24, 25},
                     .inputs = {2, 2},
                     .outputs = {1, 1},
                     .make = MakeCastLike});
}

}  // namespace attnrun::ops
