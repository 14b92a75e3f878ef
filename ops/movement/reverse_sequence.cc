// SPDX-License-Identifier: Apache-2.0
#include "ops/movement/reverse_sequence.h"

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "ops/tensors/element_copy.h"

namespace attnrun::ops {

absl::Status ReverseSequence::Reference(OpContext& context) const {
  const Tensor& x = context.input(0);
  const Tensor& lengths = context.input(1);
  const bool time_first = time_axis_ == 0 && batch_axis_ == 1;
  if (x.rank() < 2 || (!time_first && (time_axis_ != 1 || batch_axis_ != 0))) {
    return absl::InvalidArgumentError(absl::StrCat("batch axis ", batch_axis_, " and time axis ",
                                                   time_axis_, " must be 0 and 1 of ",
                                                   TypeAndShape(x)));
  }
  const int64_t batches = x.dim(static_cast<int>(batch_axis_));
  const int64_t times = x.dim(static_cast<int>(time_axis_));
  if (lengths.type() != DataType::kInt64 || lengths.rank() != 1 || lengths.dim(0) != batches) {
    return absl::InvalidArgumentError(absl::StrCat("sequence_lens must be int64[", batches,
                                                   "], but are ", TypeAndShape(lengths)));
  }
  for (int64_t b = 0; b < batches; ++b) {
    const int64_t length = lengths.data<int64_t>()[b];
    if (length >= 0 && length <= times) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("sequence_lens[", b, "] is ", length, ", outside [0,", times, "]"));
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, AllocateZeros(context, 0, x.type(), x.shape()));
  const int64_t inner = DenseStrides(x.shape())[1];
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const int64_t first = i / inner / x.dim(1);
    const int64_t second = i / inner % x.dim(1);
    const int64_t length = lengths.data<int64_t>()[time_first ? second : first];
    const int64_t time = time_first ? first : second;
    const int64_t source = time < length ? length - 1 - time : time;
    const int64_t row = time_first ? source * x.dim(1) + second : first * x.dim(1) + source;
    CopyElement(x, row * inner + i % inner, *y, i);
  }
  return absl::OkStatus();
}

}  // namespace attnrun::ops
