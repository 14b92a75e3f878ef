// SPDX-License-Identifier: Apache-2.0
#include "ops/linear/activate.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>

namespace attnrun::ops {
namespace {

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

Activation ReadActivation(AttributeReader& attributes) {
  const std::string name = attributes.OneOf("activation", "", kActivationNames);
  const auto* const found =
      std::find(std::begin(kActivationNames), std::end(kActivationNames), name);
  // The reader has recorded an error for any other name.
  if (found == std::end(kActivationNames)) return Activation::kNone;
  return static_cast<Activation>(found - std::begin(kActivationNames));
}

double Activate(Activation activation, double x) {
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      // NaN stays NaN.
      return x < 0 ? 0 : x;
    case Activation::kGelu:
      return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
    case Activation::kGeluTanh:
      return 0.5 * x *
             (1 + std::tanh(std::sqrt(2 * std::numbers::inv_pi) * (x + 0.044715 * x * x * x)));
    case Activation::kQuickGelu:
      return x * Sigmoid(1.702 * x);
    case Activation::kSilu:
      return x * Sigmoid(x);
    case Activation::kTanh:
      return std::tanh(x);
    case Activation::kSigmoid:
      return Sigmoid(x);
  }
  return x;
}

}  // namespace attnrun::ops
