// SPDX-License-Identifier: Apache-2.0

// The gates around linear attention. They are computed in float, whatever the type of their inputs.

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "ops/composite/composite.h"
#include "ops/interface/attribute_reader.h"

namespace attnrun::ops::contrib {
namespace {

Value* AsFloat(Body& b, Value* value) {
  if (b.TypeOf(value) == DataType::kFloat) return value;
  return b.Cast(value, DataType::kFloat);
}

// Gives a float as an output of the type of input 0.
void GiveRounded(Body& b, Value* value, int output = 0) {
  const DataType type = b.TypeOf(b.input(0));
  if (type == DataType::kUndefined) return b.Fail("the type of its input is not known");
  b.Give(type == DataType::kFloat ? value : b.Cast(value, type), output);
}

// Expects value i to be as the first one.
void ExpectLike(Body& b, int i, absl::string_view name) {
  const std::optional<std::vector<SymInt>>& dims = b.Of(b.input(0)).dims;
  if (dims.has_value()) b.Expect(name, b.input(i), b.TypeOf(b.input(0)), *dims);
}

// x [.., H C] normalized over the C elements that scale has.
Value* Normalized(Body& b, float epsilon) {
  Value* x = AsFloat(b, b.input(0));
  Value* scale = AsFloat(b, b.input(1));
  const AttributeMap norm = {{"axis", int64_t{-1}}, {"epsilon", epsilon}};
  const auto width = b.Extent(x, -1);
  const auto size = b.Extent(scale, -1);
  if (!width.has_value() || !size.has_value()) {
    b.Fail("the extent of its rows, or of scale, is not known");
    return x;
  }
  if (*size < 1 || *width % *size != 0) {
    b.Fail(absl::StrCat("expected rows of a multiple of the ", *size,
                        " elements of scale, but X is ", b.Describe(b.input(0))));
    return x;
  }
  if (*width == *size) return b.Op("RMSNormalization", {x, scale}, norm);
  // 0 stands for the extent of X.
  std::vector<int64_t> rows(b.RankOf(x) - 1, 0);
  std::vector<int64_t> groups = rows;
  rows.push_back(*width);
  groups.insert(groups.end(), {*width / *size, *size});
  Value* y = b.Op("RMSNormalization", {b.Op("Reshape", {x, b.Ints(groups)}), scale}, norm);
  return b.Op("Reshape", {y, b.Ints(rows)});
}

}  // namespace

// GatedAdd-1 (x, y, gate [.., 1]): x + y gate.
Composite::Writer GatedAdd(AttributeReader& /*attributes*/) {
  return [](Body& b) {
    b.ExpectFloats({b.input(0), b.input(1), b.input(2)});
    ExpectLike(b, 1, "Y");
    b.Give(b.Op("Add", {b.input(0), b.Op("Mul", {b.input(1), b.input(2)})}));
  };
}

// GatedRMSNorm-1 (x [.., H C], scale [C], gate like x): each C elements of x, divided by the root
// of their mean square plus epsilon, times scale, times `activation` of the gate: silu (or swish),
// z sigmoid(z), or sigmoid.
Composite::Writer GatedRMSNorm(AttributeReader& attributes) {
  const float epsilon = attributes.Float("epsilon", 1e-5F);
  const bool sigmoid =
      attributes.OneOf("activation", "silu", {"silu", "swish", "sigmoid"}) == "sigmoid";
  return [=](Body& b) {
    b.ExpectFloats({b.input(0), b.input(1), b.input(2)});
    ExpectLike(b, 2, "gate");
    Value* gate = AsFloat(b, b.input(2));
    gate = sigmoid ? b.Op("Sigmoid", {gate}) : b.Op("Swish", {gate});
    GiveRounded(b, b.Op("Mul", {Normalized(b, epsilon), gate}));
  };
}

// LinearAttentionGate-1 (a [B, T, H], dt_bias float[H], decay_scale float[H], b [B, T, H]?) ->
// decay = decay_scale Softplus(a + dt_bias), beta = Sigmoid(b).
Composite::Writer LinearAttentionGate(AttributeReader& /*attributes*/) {
  return [](Body& b) {
    const SymInt heads = b.Dim(b.input(0), -1);
    b.Expect("dt_bias", b.input(1), DataType::kFloat, {heads});
    b.Expect("decay_scale", b.input(2), DataType::kFloat, {heads});
    Value* shifted = b.Op("Add", {AsFloat(b, b.input(0)), b.input(1)});
    GiveRounded(b, b.Op("Mul", {b.Op("Softplus", {shifted}), b.input(2)}));
    if (!b.wants(1)) return;
    b.ExpectInput(3, "b");
    if (b.failed()) return;
    ExpectLike(b, 3, "b");
    GiveRounded(b, b.Op("Sigmoid", {AsFloat(b, b.input(3))}), 1);
  };
}

}  // namespace attnrun::ops::contrib
