// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONTRIB_LAST_AXIS_H_
#define ATTNRUN_OPS_CONTRIB_LAST_AXIS_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/interface/op_context.h"

// What reference code of operators has in common that work on rows, the last axis of input 0.
namespace attnrun::ops {

// kInvalidArgument unless the tensor is of floats and has a last axis whose length is a multiple of
// `divisor`.
absl::Status CheckFloats(const Tensor& x, int64_t divisor);

// kInvalidArgument unless the node has input i, which others that it may lack come before.
absl::Status CheckHasInput(const OpContext& context, int i, absl::string_view name);

// The elements of input i, which must have the type of input 0 and one number for each index of its
// last axis; `otherwise` in place of each if it is left out. Not empty.
absl::StatusOr<std::vector<double>> ReadRow(const OpContext& context, int i, double otherwise);

// Makes `values` output i, if it is wanted.
absl::Status SetDoubles(OpContext& context, int i, DataType type, absl::Span<const int64_t> shape,
                        absl::Span<const double> values);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONTRIB_LAST_AXIS_H_
