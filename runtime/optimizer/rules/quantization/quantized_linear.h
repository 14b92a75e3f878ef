// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_QUANTIZATION_QUANTIZED_LINEAR_H_
#define ATTNRUN_OPTIMIZER_RULES_QUANTIZATION_QUANTIZED_LINEAR_H_

#include "absl/status/statusor.h"
#include "optimizer/rewrite/pass.h"

// A product of integers by a constant matrix and what makes floats of it become one operator:
//
//   x  W                                      x  W  b  x_scale  w_scale
//    \ /     x_scale  w_scale                  \  \  |    |     /
//  MatMulInteger  \    /                       QuantizedLinear
//      |           Mul              ->               |
//     Cast        /                                  y
//       \        /
//         Mul
//          |   b
//          Add
//           |
//           y
//
// The factors may stand in any order, each by itself or multiplied with the other first; the zero
// points of x and W come along. Without x_scale or w_scale it counts as 1.
//
// So does a product of floats that are such integers, which is exact in them:
//
//   x  x_scale  x_zero   W  w_scale  w_zero
//    \    |     /         \    |     /            x  W  b  x_scale  x_zero  w_scale  w_zero
//   DequantizeLinear   DequantizeLinear            \  \  |    |       |       |      /
//          |           /                    ->              QuantizedLinear
//          MatMul, Gemm                                            |
//              |   b                                               y
//              Add
//               |
//               y
//
// W may be transposed and x arranged anew in between. What was rounded to x stays rounded.
namespace attnrun::opt {

absl::StatusOr<int> FuseQuantizedLinear(PassContext& context);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_QUANTIZATION_QUANTIZED_LINEAR_H_
