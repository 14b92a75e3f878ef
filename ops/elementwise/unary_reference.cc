// SPDX-License-Identifier: Apache-2.0
#include "core/elements.h"
#include "core/status.h"
#include "ops/elementwise/unary.h"

namespace attnrun::ops {
namespace {

bool IsIntegerFunction(UnaryFunction function) {
  return function == UnaryFunction::kAbs || function == UnaryFunction::kNeg ||
         function == UnaryFunction::kSign || function == UnaryFunction::kBitwiseNot ||
         function == UnaryFunction::kRelu;
}

// uint64 is passed as its two's complement and is never negative.
int64_t ApplyToInt(UnaryFunction function, int64_t x, DataType type) {
  const bool negative = x < 0 && type != DataType::kUint64;
  const auto minus_x = static_cast<int64_t>(0 - static_cast<uint64_t>(x));
  switch (function) {
    case UnaryFunction::kAbs:
      return negative ? minus_x : x;
    case UnaryFunction::kNeg:
      return minus_x;
    case UnaryFunction::kSign:
      return negative ? -1 : x != 0;
    case UnaryFunction::kBitwiseNot:
      return ~x;
    default:
      return negative ? 0 : x;
  }
}

}  // namespace

absl::Status Unary::Reference(OpContext& context) const {
  ATTNRUN_RETURN_IF_ERROR(CheckType(context, 0, types_));
  const Tensor& x = context.input(0);
  Tensor y;
  if (IsInteger(x.type()) && IsIntegerFunction(function_)) {
    ATTNRUN_ASSIGN_OR_RETURN(std::vector<int64_t> values, ToInts(x));
    for (int64_t& value : values) value = ApplyToInt(function_, value, x.type());
    ATTNRUN_ASSIGN_OR_RETURN(y, FromInts(x.type(), x.shape(), values, context.allocator()));
  } else {
    ATTNRUN_ASSIGN_OR_RETURN(std::vector<double> values, ToDoubles(x));
    for (double& value : values) value = Apply(function_, value, parameters_);
    ATTNRUN_ASSIGN_OR_RETURN(y, FromDoubles(x.type(), x.shape(), values, context.allocator()));
  }
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

}  // namespace attnrun::ops
