// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_ACTIVATION_H_
#define ATTNRUN_OPS_GEMM_ACTIVATION_H_

#include "absl/strings/string_view.h"

namespace attnrun::ops {

// A function that a product may end with.
enum class Activation {
  kNone,
  kRelu,       // max(0, x)
  kGelu,       // x (1 + erf(x / sqrt(2))) / 2
  kGeluTanh,   // x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2
  kQuickGelu,  // x / (1 + exp(-1.702 x))
  kSilu,       // x / (1 + exp(-x))
  kTanh,
  kSigmoid,  // 1 / (1 + exp(-x))
};

// The names as attributes, in the order of the enumerators.
inline constexpr absl::string_view kActivationNames[] = {"",          "Relu", "Gelu", "GeluTanh",
                                                         "QuickGelu", "Silu", "Tanh", "Sigmoid"};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_ACTIVATION_H_
