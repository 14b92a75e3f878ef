// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONTRIB_LAST_AXIS_H_
#define ATTNRUN_OPS_CONTRIB_LAST_AXIS_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/interface/op_context.h"

// Shared by the reference code of operators that work on rows, the last axis of input 0.
namespace attnrun::ops {

// kInvalidArgument unless x holds floats and has a last axis whose length is a multiple of
// `divisor`.
absl::Status CheckFloats(const Tensor& x, int64_t divisor);

// kInvalidArgument unless required input i is present; optional inputs may precede it.
absl::Status CheckHasInput(const OpContext& context, int i, absl::string_view name);

// The elements of input i, which must have the type of input 0 and one element per index of its
// last axis; `otherwise` for each if the input is left out. Never empty.
absl::StatusOr<std::vector<double>> ReadRow(const OpContext& context, int i, double otherwise);

// Sets output i to `values`, if it is wanted.
absl::Status SetDoubles(OpContext& context, int i, DataType type, absl::Span<const int64_t> shape,
                        absl::Span<const double> values);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONTRIB_LAST_AXIS_H_
