// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_QUANTIZATION_INT8_INTEGER_PRODUCT_H_
#define ATTNRUN_OPS_QUANTIZATION_INT8_INTEGER_PRODUCT_H_

#include "absl/strings/string_view.h"
#include "ops/composite/body.h"

namespace attnrun::ops {

// An 8-bit operand that stands for (value - zero_point) * scale; zero_point may be null. `name` is
// for messages.
struct IntegerOperand {
  absl::string_view name;
  Value* value;
  Value* scale;
  Value* zero_point;
};

// The product of two such matrices of rank 2 or more, in float, written as exporters do for ONNX's
// own operators: int32 sums, converted to floats, scaled. Scale and zero point of a are one number;
// those of b are one number, or one per column.
Value* IntegerProduct(Body& b, const IntegerOperand& a, const IntegerOperand& other);

// A zero point of one element, as rank 0: MatMulInteger would read a row of one as a column's.
Value* AsScalar(Body& b, Value* zero_point);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_QUANTIZATION_INT8_INTEGER_PRODUCT_H_
