// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise/swiglu.h"

#include <memory>

#include "ops/composite/composite.h"

namespace attnrun::ops {
namespace {

void CheckSameShape(Body& b) {
  const std::optional<std::vector<SymInt>>& dims = b.Of(b.input(0)).dims;
  b.ExpectFloats({b.input(0), b.input(1)});
  if (dims.has_value()) b.Expect("b", b.input(1), b.TypeOf(b.input(0)), *dims);
}

std::unique_ptr<Composite> MakeSwiglu(AttributeReader& attributes) {
  const float alpha = attributes.Float("alpha", 1);
  return std::make_unique<Composite>([alpha](Body& b) {
    CheckSameShape(b);
    b.Give(b.Op("Mul", {b.Op("Swish", {b.input(0)}, {{"alpha", alpha}}), b.input(1)}));
  });
}

}  // namespace

void RegisterSwiglu(OpRegistry& registry) {
  registry.Register({"", "SwiGLU", {28}, {2, 2}, {1, 1}, MakeSwiglu, kElementwise});
}

}  // namespace attnrun::ops
