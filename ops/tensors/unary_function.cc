// SPDX-License-Identifier: Apache-2.0
#include "ops/tensors/unary_function.h"

#include <cmath>
#include <numbers>

namespace attnrun::ops {
namespace {

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// NaN stays NaN.
double Clamp01(double x) { return x < 0 ? 0 : x > 1 ? 1 : x; }

double Activate(UnaryFunction function, double x, const UnaryParameters& p) {
  const double alpha = p.alpha;
  switch (function) {
    case UnaryFunction::kRelu:
      return x < 0 ? 0 : x;
    case UnaryFunction::kLeakyRelu:
      return x < 0 ? alpha * x : x;
    case UnaryFunction::kThresholdedRelu:
      return x > alpha ? x : 0;
    case UnaryFunction::kShrink:
      return x < -alpha ? x + p.beta : x > alpha ? x - p.beta : 0;
    case UnaryFunction::kElu:
      return x < 0 ? alpha * std::expm1(x) : x;
    case UnaryFunction::kSelu:
      return x <= 0 ? p.gamma * (alpha * std::expm1(x)) : p.gamma * x;
    case UnaryFunction::kCelu:
      // The formula's second term is 0 for x >= 0, its first for x < 0.
      return x < 0 ? alpha * std::expm1(x / alpha) : x;
    case UnaryFunction::kSigmoid:
      return Sigmoid(x);
    case UnaryFunction::kHardSigmoid:
      return Clamp01(alpha * x + p.beta);
    case UnaryFunction::kHardSwish:
      return x * Clamp01(x / 6 + 0.5);
    case UnaryFunction::kSwish:
      return x * Sigmoid(alpha * x);
    case UnaryFunction::kClip:
      // Two comparisons, so that beta wins where alpha > beta.
      x = x < alpha ? alpha : x;
      return x > p.beta ? p.beta : x;
    case UnaryFunction::kSoftplus:
      return std::fmax(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
    case UnaryFunction::kSoftsign:
      return x / (1 + std::fabs(x));
    case UnaryFunction::kMish:
      return x * std::tanh(std::log1p(std::exp(x)));
    case UnaryFunction::kGelu:
      // 1 + erf(z) is erfc(-z), which stays accurate where erf(z) is close to -1.
      return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
    default: {
      const double inner = std::sqrt(2 * std::numbers::inv_pi) * (x + 0.044715 * x * x * x);
      return 0.5 * x * (1 + std::tanh(inner));
    }
  }
}

}  // namespace

double Apply(UnaryFunction function, double x, const UnaryParameters& parameters) {
  switch (function) {
    case UnaryFunction::kIdentity:
      return x;
    case UnaryFunction::kAbs:
      return std::fabs(x);
    case UnaryFunction::kNeg:
      return -x;
    case UnaryFunction::kSign:
      return x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x;
    case UnaryFunction::kCeil:
      return std::ceil(x);
    case UnaryFunction::kFloor:
      return std::floor(x);
    case UnaryFunction::kRound:
      return std::nearbyint(x);
    case UnaryFunction::kSqrt:
      return std::sqrt(x);
    case UnaryFunction::kReciprocal:
      return 1 / x;
    case UnaryFunction::kExp:
      return std::exp(x);
    case UnaryFunction::kLog:
      return std::log(x);
    case UnaryFunction::kErf:
      return std::erf(x);
    case UnaryFunction::kSin:
      return std::sin(x);
    case UnaryFunction::kCos:
      return std::cos(x);
    case UnaryFunction::kTan:
      return std::tan(x);
    case UnaryFunction::kAsin:
      return std::asin(x);
    case UnaryFunction::kAcos:
      return std::acos(x);
    case UnaryFunction::kAtan:
      return std::atan(x);
    case UnaryFunction::kSinh:
      return std::sinh(x);
    case UnaryFunction::kCosh:
      return std::cosh(x);
    case UnaryFunction::kTanh:
      return std::tanh(x);
    case UnaryFunction::kAsinh:
      return std::asinh(x);
    case UnaryFunction::kAcosh:
      return std::acosh(x);
    case UnaryFunction::kAtanh:
      return std::atanh(x);
    default:
      return Activate(function, x, parameters);
  }
}

}  // namespace attnrun::ops
