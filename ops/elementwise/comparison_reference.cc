// SPDX-License-Identifier: Apache-2.0
#include "core/elements.h"
#include "core/status.h"
#include "ops/elementwise/broadcast_reference.h"
#include "ops/elementwise/comparison.h"

namespace attnrun::ops {
namespace {

template <typename T>
bool Compare(ComparisonFunction function, const T& a, const T& b) {
  switch (function) {
    case ComparisonFunction::kEqual:
      return a == b;
    case ComparisonFunction::kLess:
      return a < b;
    case ComparisonFunction::kLessOrEqual:
      return a <= b;
    case ComparisonFunction::kGreater:
      return a > b;
    case ComparisonFunction::kGreaterOrEqual:
      return a >= b;
    case ComparisonFunction::kAnd:
      return a != T() && b != T();
    case ComparisonFunction::kOr:
      return a != T() || b != T();
    default:
      return (a != T()) != (b != T());
  }
}

template <typename T>
std::vector<int64_t> CompareAll(ComparisonFunction function, const OpContext& context,
                                const Shape& shape, const std::vector<T>& a,
                                const std::vector<T>& b) {
  const std::vector<T> left = Broadcast(a, context.input(0).shape(), shape);
  const std::vector<T> right = Broadcast(b, context.input(1).shape(), shape);
  std::vector<int64_t> result(left.size());
  for (size_t i = 0; i < left.size(); ++i) {
    result[i] = Compare(function, left[i], right[i]) ? 1 : 0;
  }
  return result;
}

std::vector<uint64_t> ToUnsigned(const std::vector<int64_t>& values) {
  return {values.begin(), values.end()};
}

}  // namespace

absl::Status Comparison::Reference(OpContext& context) const {
  ATTNRUN_RETURN_IF_ERROR(CheckType(context, 0, types_));
  ATTNRUN_RETURN_IF_ERROR(CheckSameType(context, 0, 1));
  ATTNRUN_ASSIGN_OR_RETURN(const Shape shape, BroadcastInputShapes(context));
  const Tensor& a = context.input(0);
  const Tensor& b = context.input(1);
  std::vector<int64_t> result;
  if (a.type() == DataType::kString) {
    result = CompareAll(function_, context, shape, *ToStrings(a), *ToStrings(b));
  } else if (IsFloatingPoint(a.type())) {
    result = CompareAll(function_, context, shape, *ToDoubles(a), *ToDoubles(b));
  } else if (a.type() == DataType::kUint64) {
    result = CompareAll(function_, context, shape, ToUnsigned(*ToInts(a)), ToUnsigned(*ToInts(b)));
  } else {
    result = CompareAll(function_, context, shape, *ToInts(a), *ToInts(b));
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor c, FromInts(DataType::kBool, shape, result, context.allocator()));
  context.SetOutput(0, std::move(c));
  return absl::OkStatus();
}

}  // namespace attnrun::ops
