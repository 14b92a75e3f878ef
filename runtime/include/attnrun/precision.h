// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_PRECISION_H_
#define ATTNRUN_PRECISION_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "attnrun/export.h"

namespace attnrun {

// The arithmetic of products: those of linear layers, convolutions and attention. Everything else,
// and every sum, is computed in float32.
enum class Precision {
  // As the model is written.
  kFloat32,
  // Operands are rounded to bfloat16 (8 bits of mantissa, round to nearest, ties to even; numbers
  // below 2^-126 become 0), products are exact and their sums float32.
  kBfloat16,
  // As kFloat32, but products with weights of 4 bits (MatMulNBits) round their activations to 8
  // bits, with a scale for each block of the weights (see MatMulNBits' accuracy_level 4).
  kInt8Activations,
  // Products by constant floats round these to 8 bits, with a scale for each column, and the other
  // operand to 8 bits, with a scale and a zero point for each row; sums are exact integers. Some
  // products keep a finer precision: see Session::ProductPrecisions.
  kInt8,
};

// "float32", "bf16", "int8-activations" or "int8".
ATTNRUN_EXPORT absl::string_view Name(Precision precision);

// The precision of a name. kInvalidArgument for an unknown one, with all names.
ATTNRUN_EXPORT absl::StatusOr<Precision> PrecisionOf(absl::string_view name);

}  // namespace attnrun

#endif  // ATTNRUN_PRECISION_H_
