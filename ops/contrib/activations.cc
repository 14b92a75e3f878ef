// SPDX-License-Identifier: Apache-2.0
#include "ops/composite/composite.h"
#include "ops/interface/attribute_reader.h"

namespace attnrun::ops::contrib {
namespace {

// x [.., D], plus the bias [D] if there is one.
Value* Biased(Body& b) {
  Value* x = b.input(0);
  Value* bias = b.input(1);
  b.ExpectFloats({x, bias});
  b.Expect("the bias", bias, b.TypeOf(x), {b.Dim(x, -1)});
  return bias == nullptr ? x : b.Op("Add", {x, bias});
}

}  // namespace

// Gelu-1 (x) and BiasGelu-1 (x, bias): s (1 + erf(s / sqrt(2))) / 2 with s = x + bias.
Composite::Writer Gelu(AttributeReader& /*attributes*/) {
  return [](Body& b) { b.Give(b.Op("Gelu", {Biased(b)})); };
}

// FastGelu-1 (x, bias?): s (1 + tanh(c (s + 0.044715 s^3))) / 2, c = sqrt(2 / pi), s = x + bias.
Composite::Writer FastGelu(AttributeReader& /*attributes*/) {
  return [](Body& b) { b.Give(b.Op("Gelu", {Biased(b)}, {{"approximate", std::string("tanh")}})); };
}

// QuickGelu-1 (x): x / (1 + exp(-alpha x)).
Composite::Writer QuickGelu(AttributeReader& attributes) {
  const float alpha = attributes.Float("alpha", 1.702F);
  return [=](Body& b) { b.Give(b.Op("Swish", {b.input(0)}, {{"alpha", alpha}})); };
}

// BiasSplitGelu-1 (x [.., 2 D], bias [2 D]) -> [.., D]: with s = x + bias, the left half of s times
// the GELU of its right half.
Composite::Writer BiasSplitGelu(AttributeReader& /*attributes*/) {
  return [](Body& b) {
    Value* x = b.input(0);
    if (b.Extent(x, -1).value_or(0) % 2 != 0) {
      b.Fail("expected a last axis of even length, but x is " + b.Describe(x));
    }
    const std::vector<Value*> halves =
        b.Ops("Split", 2, {Biased(b)}, {{"axis", int64_t{-1}}, {"num_outputs", int64_t{2}}});
    b.Give(b.Op("Mul", {halves[0], b.Op("Gelu", {halves[1]})}));
  };
}

}  // namespace attnrun::ops::contrib
