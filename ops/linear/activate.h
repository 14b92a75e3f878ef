// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_LINEAR_ACTIVATE_H_
#define ATTNRUN_OPS_LINEAR_ACTIVATE_H_

#include "ops/gemm/activation.h"
#include "ops/interface/attribute_reader.h"

namespace attnrun::ops {

// The attribute `activation`, one of the names of kActivations, and those of its parameters; none
// if it is left out.
Activation ReadActivation(AttributeReader& attributes);

// The activation of one number, for reference code.
inline double Activate(const Activation& activation, double x) {
  return Apply(activation.function, x, {.alpha = activation.alpha, .beta = activation.beta});
}

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_LINEAR_ACTIVATE_H_
