// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_PRECISION_H_
#define ATTNRUN_PRECISION_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace attnrun {

// The arithmetic of products: those of linear layers, convolutions and attention. Everything else,
// and every sum, is computed in float32.
enum class Precision {
  // As the model is written.
  kFloat32,
  // Operands are rounded to bfloat16 (8 bits of mantissa, round to nearest, ties to even; numbers
  // below 2^-126 become 0), products are exact and their sums float32.
  kBfloat16,
};

// "float32" or "bf16".
absl::string_view Name(Precision precision);

// The precision of a name. kInvalidArgument for an unknown one, with all names.
absl::StatusOr<Precision> PrecisionOf(absl::string_view name);

}  // namespace attnrun

#endif  // ATTNRUN_PRECISION_H_
