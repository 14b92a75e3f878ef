// SPDX-License-Identifier: Apache-2.0
#include "ops/movement/trilu.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "ops/tensors/element_copy.h"
#include "ops/tensors/int_input.h"

namespace attnrun::ops {

absl::StatusOr<int64_t> TriluDiagonal(const OpContext& context) {
  const Tensor& x = context.input(0);
  if (x.rank() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("the input must have rank 2 or more, but is ", TypeAndShape(x)));
  }
  if (!context.has_input(1)) return 0;
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t k, ReadInt(context.input(1), "k"));
  return std::clamp(k, -x.dim(x.rank() - 2), x.dim(x.rank() - 1));
}

absl::Status Trilu::Reference(OpContext& context) const {
  const Tensor& x = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t k, TriluDiagonal(context));
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, AllocateZeros(context, 0, x.type(), x.shape()));
  const int64_t rows = x.dim(x.rank() - 2);
  const int64_t columns = x.dim(x.rank() - 1);
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const int64_t diagonal = i % columns - i / columns % rows;
    if (upper_ ? diagonal >= k : diagonal <= k) CopyElement(x, i, *y, i);
  }
  return absl::OkStatus();
}

}  // namespace attnrun::ops
