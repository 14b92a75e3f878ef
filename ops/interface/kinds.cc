// SPDX-License-Identifier: Apache-2.0
#include "ops/interface/kinds.h"

#include "absl/strings/str_cat.h"

namespace attnrun::ops {

absl::Status CheckKind(const KindContext& context, size_t i, ValueKind expected) {
  if (context.inputs[i] == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("input ", i, " must be a value of kind ",
                                                 Name(expected), ", but is of kind ",
                                                 Name(context.inputs[i])));
}

absl::StatusOr<ValueKind> CommonKind(ValueKind a, ValueKind b) {
  if (a == b) return a;
  if (HoldsSequence(a) == HoldsSequence(b)) {
    return HoldsSequence(a) ? ValueKind::kOptionalSequence : ValueKind::kOptionalTensor;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("a ", Name(a), " and a ", Name(b), " cannot take one place"));
}

}  // namespace attnrun::ops
