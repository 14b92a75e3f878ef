// SPDX-License-Identifier: Apache-2.0
#include "ops/gather/compress.h"

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "ops/tensors/element_copy.h"

namespace attnrun::ops {

absl::Status Compress::Reference(OpContext& context) const {
  const Tensor& condition = context.input(1);
  Tensor data = context.input(0);
  if (!axis_.has_value()) {
    ATTNRUN_ASSIGN_OR_RETURN(data, data.Reshaped({data.num_elements()}));
  }
  ATTNRUN_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(axis_.value_or(0), data.rank()));
  if (condition.type() != DataType::kBool || condition.rank() != 1 ||
      condition.dim(0) > data.dim(axis)) {
    return absl::InvalidArgumentError(absl::StrCat("condition must be bool of at most ",
                                                   data.dim(axis), " elements, but is ",
                                                   TypeAndShape(condition)));
  }
  std::vector<int64_t> chosen;
  for (int64_t i = 0; i < condition.num_elements(); ++i) {
    if (condition.data<bool>()[i]) chosen.push_back(i);
  }
  Shape shape = data.shape();
  const auto count = static_cast<int64_t>(chosen.size());
  shape[axis] = count;
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, AllocateZeros(context, 0, data.type(), shape));
  const int64_t inner = DenseStrides(shape)[axis];
  for (int64_t i = 0; i < y->num_elements(); ++i) {
    const int64_t outer = i / inner / count;
    const int64_t index = chosen[i / inner % count];
    CopyElement(data, (outer * data.dim(axis) + index) * inner + i % inner, *y, i);
  }
  return absl::OkStatus();
}

}  // namespace attnrun::ops
