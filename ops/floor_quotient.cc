#include "ops/floor_quotient.h"

namespace attnrun {

SymInt FloorQuotient(const SymInt& a, int64_t b) {
  const int64_t number = a.constant_term();
  const int64_t rest = (number % b + b) % b;
  const SymInt least = a - SymInt(number - rest);
  if (number > rest && !least.IsNeverNegative()) return SymInt::Quotient(a, b);
  return SymInt::Quotient(least, b) + SymInt((number - rest) / b);
}

}  // namespace attnrun
