// SPDX-License-Identifier: Apache-2.0
#include "ops/search/topk.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "ops/search/order.h"
#include "ops/tensors/element_copy.h"
#include "ops/tensors/int_input.h"

namespace attnrun::ops {

TopK::TopK(AttributeReader& attributes)
    : from_input_(attributes.version() >= 10), axis_(attributes.Int("axis", -1)) {
  attributes.ExpectInputs(from_input_ ? 2 : 1, from_input_ ? 2 : 1);
  if (!from_input_) k_ = attributes.Required<int64_t>("k");
  if (attributes.version() < 11) return;
  largest_ = attributes.Int("largest", 1) != 0;
  attributes.Ignore("sorted");
}

absl::StatusOr<int64_t> TopK::Count(const OpContext& context, int axis) const {
  const Tensor& x = context.input(0);
  int64_t k = k_;
  if (from_input_) {
    ATTNRUN_ASSIGN_OR_RETURN(k, ReadInt(context.input(1), "K"));
  }
  if (k >= 0 && k <= x.dim(axis)) return k;
  return absl::InvalidArgumentError(absl::StrCat("K is ", k, ", outside [0,", x.dim(axis),
                                                 "], the elements along axis ", axis, " of ",
                                                 TypeAndShape(x)));
}

absl::Status TopK::Reference(OpContext& context) const {
  const Tensor& x = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(axis_, x.rank()));
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t k, Count(context, axis));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> keys, OrderKeys(x));
  Shape shape = x.shape();
  shape[axis] = k;
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * values, AllocateZeros(context, 0, x.type(), shape));
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * indices, context.AllocateOutput(1, DataType::kInt64, shape));
  // The axis may be of any length then.
  if (values->num_elements() == 0) return absl::OkStatus();
  const int64_t step = DenseStrides(x.shape())[axis];
  std::vector<int64_t> order(x.dim(axis));
  for (int64_t slice = 0; slice < values->num_elements() / k; ++slice) {
    const int64_t first = slice / step * x.dim(axis) * step + slice % step;
    for (int64_t j = 0; j < x.dim(axis); ++j) order[j] = j;
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      const int64_t key_a = keys[first + a * step];
      const int64_t key_b = keys[first + b * step];
      return largest_ ? key_a > key_b : key_a < key_b;
    });
    for (int64_t j = 0; j < k; ++j) {
      const int64_t to = (slice / step * k + j) * step + slice % step;
      CopyElement(x, first + order[j] * step, *values, to);
      indices->mutable_data<int64_t>()[to] = order[j];
    }
  }
  return absl::OkStatus();
}

}  // namespace attnrun::ops
