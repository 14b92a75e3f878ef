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
  float beta = 0;
  // True if the argument comes from rounded operands: the function may be off by less than their
  // rounding (see rough_activation-inl.h).
  bool is_rough = false;

  explicit operator bool() const { return function != UnaryFunction::kIdentity; }
};

struct NamedActivation {
  // As an attribute.
  absl::string_view name;
  // With the defaults of its parameters.
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
    {"HardSigmoid", {UnaryFunction::kHardSigmoid, 0.2F, 0.5F}},
    {"HardSwish", {UnaryFunction::kHardSwish}},
    {"LeakyRelu", {UnaryFunction::kLeakyRelu, 0.01F}},
    {"Mish", {UnaryFunction::kMish}},
    {"Clip", {UnaryFunction::kClip, 0, 6}},
};

// The attributes that give the parameters of an activation, and how many of them it has.
inline constexpr char kActivationAlpha[] = "activation_alpha";
inline constexpr char kActivationBeta[] = "activation_beta";
constexpr int NumParameters(const Activation& activation) {
  switch (activation.function) {
    case UnaryFunction::kLeakyRelu:
      return 1;
    case UnaryFunction::kHardSigmoid:
    case UnaryFunction::kClip:
      return 2;
    default:
      return 0;
  }
}

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_ACTIVATION_H_
