// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_WEIGHT_CHOICE_H_
#define ATTNRUN_OPS_GEMM_WEIGHT_CHOICE_H_

#include <optional>
#include <string>

#include "ops/gemm/side_by_side.h"
#include "ops/gemm/weight_format.h"
#include "ops/interface/kernel_context.h"

namespace attnrun::ops {

// The precision in which a product with a constant weight is computed.
struct WeightChoice {
  Precision precision = Precision::kFloat32;
  // Why it is finer than asked for; empty if it is not.
  std::string reason;
  // The weight's error, if it made the choice.
  std::optional<double> error;
};

// The choice for Precision::kInt8, which depends on the weight alone and on where the product
// stands. These stay float32: a final product (KernelContext::is_final), whose errors nothing
// damps; a small one, which gains little; one whose sums could exceed 32 bits; and one whose
// weights are not all finite. A weight that loses much when it is rounded goes to bf16: the
// relative errors of its columns,
//
//   |w - scale * q| / |w|                                     (2-norms)
//
// have a root mean square of more than kMostWeightError. Bell-shaped columns lose 0.8 %; the loss
// grows as a few weights of a column stand out, because they determine its scale. `error`: this
// root mean square if it is known; NaN for weights that are not all finite.
WeightChoice ChooseInt8(const SideBySide& weight, bool is_final,
                        std::optional<double> error = std::nullopt);

inline constexpr double kMostWeightError = 0.02;
// True for the error of a weight that may be rounded to int8.
inline bool SuitsInt8(double error) { return error <= kMostWeightError; }
// Weights of a product that is small.
inline constexpr int64_t kFewWeights = 1 << 14;
// With more rows, sums of products of [-255, 255] and [-127, 127] may exceed 32 bits.
inline constexpr int64_t kMostInt8Rows = INT32_MAX / (255 * 127);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_WEIGHT_CHOICE_H_
