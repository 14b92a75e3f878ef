// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_TENSORS_UNARY_FUNCTION_H_
#define ATTNRUN_OPS_TENSORS_UNARY_FUNCTION_H_

namespace attnrun::ops {

// A function of one number.
enum class UnaryFunction {
  kIdentity,
  // Functions of numbers. Integers wrap: Abs and Neg of the lowest integer are itself.
  kAbs,
  kNeg,
  kSign,        // -1, 0, 1; NaN of NaN
  kBitwiseNot,  // integers
  // Functions of floats.
  kCeil,
  kFloor,
  kRound,  // halves to even
  kSqrt,
  kReciprocal,
  kExp,
  kLog,
  kErf,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kTanh,
  kAsinh,
  kAcosh,
  kAtanh,
  // Activations. NaN stays NaN, except in ThresholdedRelu and Shrink.
  kRelu,             // max(0, x); integers too
  kLeakyRelu,        // alpha x for x < 0, else x
  kThresholdedRelu,  // x for x > alpha, else 0
  kShrink,           // x + beta for x < -alpha, x - beta for x > alpha, else 0
  kElu,              // alpha (exp(x) - 1) for x < 0, else x
  kSelu,             // gamma (alpha exp(x) - alpha) for x <= 0, else gamma x
  kCelu,             // max(0, x) + min(0, alpha (exp(x / alpha) - 1))
  kSigmoid,          // 1 / (1 + exp(-x))
  kHardSigmoid,      // max(0, min(1, alpha x + beta))
  kHardSwish,        // x HardSigmoid(x) with alpha = 1/6, beta = 1/2
  kSwish,            // x Sigmoid(alpha x)
  kClip,             // min(max(x, alpha), beta)
  kSoftplus,         // ln(1 + exp(x))
  kSoftsign,         // x / (1 + |x|)
  kMish,             // x tanh(Softplus(x))
  kGelu,             // x (1 + erf(x / sqrt(2))) / 2
  kGeluTanh,         // x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2
};

// The attributes of the function.
struct UnaryParameters {
  float alpha = 0;
  float beta = 0;
  float gamma = 0;
};

// f(x), for reference code.
double Apply(UnaryFunction function, double x, const UnaryParameters& parameters = {});

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_TENSORS_UNARY_FUNCTION_H_
