// SPDX-License-Identifier: Apache-2.0
#include "attnrun/precision.h"

#include "absl/strings/str_cat.h"
#include "core/quote.h"

namespace attnrun {

absl::string_view Name(Precision precision) {
  switch (precision) {
    case Precision::kFloat32:
      return "float32";
    case Precision::kBfloat16:
      return "bf16";
    case Precision::kInt8Activations:
      return "int8-activations";
    case Precision::kInt8:
      return "int8";
  }
  return "";
}

absl::StatusOr<Precision> PrecisionOf(absl::string_view name) {
  for (const Precision precision :
       {Precision::kFloat32, Precision::kBfloat16, Precision::kInt8Activations, Precision::kInt8}) {
    if (name == Name(precision)) return precision;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown precision ", Quoted(name), ": expected float32, bf16, int8-activations or int8"));
}

}  // namespace attnrun
