// SPDX-License-Identifier: Apache-2.0
#include "ops/softmax/softmax.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "ops/interface/families.h"

namespace attnrun::ops {

SoftmaxAxis::SoftmaxAxis(AttributeReader& attributes)
    : axis_(attributes.Int("axis", attributes.version() < 13 ? 1 : -1)),
      flatten_(attributes.version() < 13) {}

absl::StatusOr<SoftmaxShape> SoftmaxAxis::Resolve(const Tensor& x) const {
  if (!IsFloatingPoint(x.type())) {
    return absl::InvalidArgumentError(absl::StrCat("expected floats, but found ", TypeAndShape(x)));
  }
  SoftmaxShape shape;
  // Axis 1, the default of the old versions, splits a vector after its only axis.
  if (flatten_ && axis_ == x.rank()) {
    shape.outer = x.num_elements();
    return shape;
  }
  ATTNRUN_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(axis_, std::max(x.rank(), 1)));
  for (int i = 0; i < x.rank(); ++i) {
    if (i < axis) {
      shape.outer *= x.dim(i);
    } else {
      (i == axis || flatten_ ? shape.length : shape.inner) *= x.dim(i);
    }
  }
  return shape;
}

void RegisterSoftmax(OpRegistry& registry) {
  auto add = [&](const char* name, OpFactory make, OpTraits traits = {}) {
    registry.Register({"", name, {1, 11, 13}, {1, 1}, {1, 1}, std::move(make), traits});
  };
  add("Softmax", [](AttributeReader& a) { return std::make_unique<Softmax>(a, false); }, kBounded);
  add("LogSoftmax", [](AttributeReader& a) { return std::make_unique<Softmax>(a, true); });
  add("Hardmax", Make<Hardmax>, kBounded);
}

}  // namespace attnrun::ops
