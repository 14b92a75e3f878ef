// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_INTERFACE_OPTIONAL_INPUT_H_
#define ATTNRUN_OPS_INTERFACE_OPTIONAL_INPUT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "core/elements.h"
#include "ops/interface/op_context.h"

namespace attnrun::ops {

// Input i; null if it is left out.
inline const Tensor* OptionalInput(const OpContext& context, int i) {
  return context.has_input(i) ? &context.input(i) : nullptr;
}

// Input i; undefined if it is left out.
inline Tensor InputOrUndefined(const OpContext& context, int i) {
  return context.has_input(i) ? context.input(i) : Tensor();
}

// The elements of input i; none if it is left out. Errors as in ToDoubles.
inline absl::StatusOr<std::vector<double>> OptionalDoubles(const OpContext& context, int i) {
  if (!context.has_input(i)) return std::vector<double>();
  return ToDoubles(context.input(i));
}

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_INTERFACE_OPTIONAL_INPUT_H_
