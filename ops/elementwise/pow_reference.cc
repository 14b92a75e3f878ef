// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "core/elements.h"
#include "core/status.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/broadcast_reference.h"

namespace attnrun::ops {
namespace {

// a^b modulo 2^64. Precondition: a != 0 or b >= 0.
int64_t IntegerPower(int64_t a, int64_t b) {
  if (b < 0) {
    // 1 / a^-b, truncated.
    if (a == 1) return 1;
    if (a == -1) return b % 2 == 0 ? 1 : -1;
    return 0;
  }
  uint64_t result = 1;
  auto square = static_cast<uint64_t>(a);
  for (; b != 0; b /= 2, square *= square) {
    if (b % 2 != 0) result *= square;
  }
  return static_cast<int64_t>(result);
}

absl::StatusOr<Tensor> IntegerPowers(const Tensor& a, const Tensor& b, const Shape& shape,
                                     Allocator& allocator) {
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<int64_t> bases, ToInts(a));
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<int64_t> exponents, ToInts(b));
  bases = Broadcast(bases, a.shape(), shape);
  exponents = Broadcast(exponents, b.shape(), shape);
  for (size_t i = 0; i < bases.size(); ++i) {
    if (bases[i] == 0 && exponents[i] < 0) {
      return absl::InvalidArgumentError("division by zero: 0 to a negative power");
    }
    bases[i] = IntegerPower(bases[i], exponents[i]);
  }
  return FromInts(a.type(), shape, bases, allocator);
}

absl::StatusOr<Tensor> Powers(const Tensor& a, const Tensor& b, const Shape& shape,
                              Allocator& allocator) {
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<double> bases, ToDoubles(a));
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<double> exponents, ToDoubles(b));
  bases = Broadcast(bases, a.shape(), shape);
  exponents = Broadcast(exponents, b.shape(), shape);
  for (size_t i = 0; i < bases.size(); ++i) bases[i] = std::pow(bases[i], exponents[i]);
  return FromDoubles(a.type(), shape, bases, allocator);
}

}  // namespace

absl::Status Pow::Reference(OpContext& context) const {
  ATTNRUN_RETURN_IF_ERROR(CheckType(context, 0, kNumbers));
  ATTNRUN_RETURN_IF_ERROR(CheckType(context, 1, kNumbers));
  ATTNRUN_ASSIGN_OR_RETURN(const Shape shape, BroadcastInputShapes(context));
  const Tensor& a = context.input(0);
  const Tensor& b = context.input(1);
  // A uint64 exponent may be beyond int64, so the floating-point function takes it.
  const bool integers = IsInteger(a.type()) && IsInteger(b.type()) && b.type() != DataType::kUint64;
  ATTNRUN_ASSIGN_OR_RETURN(Tensor c, integers ? IntegerPowers(a, b, shape, context.allocator())
                                              : Powers(a, b, shape, context.allocator()));
  context.SetOutput(0, std::move(c));
  return absl::OkStatus();
}

}  // namespace attnrun::ops
