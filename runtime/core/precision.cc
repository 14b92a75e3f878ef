// SPDX-License-Identifier: Apache-2.0
#include "attnrun/precision.h"

#include "absl/strings/str_cat.h"
#include "core/quote.h"

namespace attnrun {

absl::string_view Name(Precision precision) {
  return precision == Precision::kBfloat16 ? "bf16" : "float32";
}

absl::StatusOr<Precision> PrecisionOf(absl::string_view name) {
  for (const Precision precision : {Precision::kFloat32, Precision::kBfloat16}) {
    if (name == Name(precision)) return precision;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown precision ", Quoted(name), ": expected float32 or bf16"));
}

}  // namespace attnrun
