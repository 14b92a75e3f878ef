// SPDX-License-Identifier: Apache-2.0
#include "ops/tensors/floor_quotient.h"

namespace attnrun::ops {

SymInt FloorQuotient(const SymInt& a, int64_t b) {
  const int64_t number = a.constant_term();
  const int64_t rest = number % b < 0 ? number % b + b : number % b;
  int64_t multiple;
  if (__builtin_sub_overflow(number, rest, &multiple)) return SymInt::Quotient(a, b);
  const SymInt least = a - SymInt(multiple);
  if (multiple > 0 && !least.IsNeverNegative()) return SymInt::Quotient(a, b);
  return SymInt::Quotient(least, b) + SymInt(multiple / b);
}

}  // namespace attnrun::ops
