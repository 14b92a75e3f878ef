// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_INTERFACE_OPTIONAL_INPUT_H_
#define ATTNRUN_OPS_INTERFACE_OPTIONAL_INPUT_H_

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

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_INTERFACE_OPTIONAL_INPUT_H_
