// SPDX-License-Identifier: Apache-2.0
#include "ops/movement/transpose.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ops/tensors/int_input.h"
#include "ops/tensors/strided_copy.h"

namespace attnrun::ops {

Transpose::Transpose(AttributeReader& attributes) {
  if (!attributes.Has("perm")) return;
  const auto perm = attributes.Required<std::vector<int64_t>>("perm");
  perm_.emplace(perm.begin(), perm.end());
}

absl::StatusOr<StridedView> Transpose::MakeView(const OpContext& context) const {
  const Tensor& data = context.input(0);
  Shape perm;
  if (perm_.has_value()) {
    perm = *perm_;
  } else {
    perm = FirstAxes(data.rank());
    std::reverse(perm.begin(), perm.end());
  }
  if (static_cast<int>(perm.size()) != data.rank() || !NormalizeAxes(perm, data.rank()).ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "perm ", ToString(*perm_), " is not a permutation of the axes of ", TypeAndShape(data)));
  }
  const Shape strides = StridesOf(data);
  StridedView view;
  for (const int64_t axis : perm) {
    view.shape.push_back(data.dim(static_cast<int>(axis)));
    view.strides.push_back(strides[axis]);
  }
  view.extents = view.shape;
  return view;
}

}  // namespace attnrun::ops
