// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_QUANTIZATION_INT8_QLINEAR_PRODUCTS_H_
#define ATTNRUN_OPS_QUANTIZATION_INT8_QLINEAR_PRODUCTS_H_

#include <memory>

#include "ops/composite/composite.h"
#include "ops/interface/attribute_reader.h"

namespace attnrun::ops {

// ONNX QLinearMatMul-10, -21: numpy.matmul of a and b, quantized by y_scale and y_zero_point. a and
// b are 8-bit integers that stand for (a - a_zero_point) * a_scale. Inputs: a, a_scale,
// a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point. Scales and zero points of a and y
// are one number, or one per row ([M] or [.., M, 1]); those of b are one number, or one per column
// ([N] or [.., 1, N]).
std::unique_ptr<Composite> MakeQLinearMatMul(AttributeReader& attributes);

// ONNX QLinearConv-10, and com.microsoft's, which may have channels last: the same for Conv.
// Inputs: x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, bias? int32
// [M] of scale x_scale * w_scale. Scale and zero point of w are one number, or one per output
// channel.
std::unique_ptr<Composite> MakeQLinearConv(AttributeReader& attributes);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_QUANTIZATION_INT8_QLINEAR_PRODUCTS_H_
