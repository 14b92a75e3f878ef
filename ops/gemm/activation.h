// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_ACTIVATION_H_
#define ATTNRUN_OPS_GEMM_ACTIVATION_H_

#include "absl/strings/string_view.h"
#include "ops/tensors/unary_function.h"

namespace attnrun::ops {

// A function that a product may end with: one of kActivations.
struct Activation {
  UnaryFunction function = UnaryFunction::kIdentity;
  float alpha = 0;

  explicit operator bool() const { return function != UnaryFunction::kIdentity; }
};

struct NamedActivation {
  // As an attribute.
  absl::string_view name;
  Activation activation;
};
inline constexpr NamedActivation kActivations[] = {
    {"", {}},
    {"Relu", {UnaryFunction::kRelu}},
    {"Gelu", {UnaryFunction::kGelu}},
    {"GeluTanh", {UnaryFunction::kGeluTanh}},
    {"QuickGelu", {UnaryFunction::kSwish, 1.702F}},
    {"Silu", {UnaryFunction::kSwish, 1}},
    {"Tanh", {UnaryFunction::kTanh}},
    {"Sigmoid", {UnaryFunction::kSigmoid}},
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_ACTIVATION_H_
