// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/minifloat.h"
#include "core/status.h"
#include "ops/elementwise/clip.h"
#include "ops/interface/type_set.h"

namespace attnrun::ops {
namespace {

double LargestFinite(DataType type) {
  constexpr uint16_t kLargestFloat16 = 0x7BFF;
  constexpr uint16_t kLargestBfloat16 = 0x7F7F;
  switch (type) {
    case DataType::kFloat16:
      return DecodeFloat(type, kLargestFloat16);
    case DataType::kBfloat16:
      return DecodeFloat(type, kLargestBfloat16);
    case DataType::kFloat:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

template <typename T>
T Limit(T x, T low, T high) {
  // Written so that NaN passes.
  const T raised = x < low ? low : x;
  return raised > high ? high : raised;
}

absl::StatusOr<double> Bound(const OpContext& context, int i, double otherwise) {
  if (!context.has_input(i)) return otherwise;
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(context.input(i)));
  return values[0];
}

absl::StatusOr<int64_t> Bound(const OpContext& context, int i, int64_t otherwise) {
  if (!context.has_input(i)) return otherwise;
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> values, ToInts(context.input(i)));
  return values[0];
}

// uint64 is held as its two's complement.
template <typename T>
absl::Status LimitIntegers(const OpContext& context, std::vector<int64_t>& values) {
  constexpr auto kLow = static_cast<int64_t>(std::numeric_limits<T>::lowest());
  constexpr auto kHigh = static_cast<int64_t>(std::numeric_limits<T>::max());
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t low, Bound(context, 1, kLow));
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t high, Bound(context, 2, kHigh));
  for (int64_t& value : values) {
    value = static_cast<int64_t>(
        Limit(static_cast<T>(value), static_cast<T>(low), static_cast<T>(high)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckClipBounds(const OpContext& context) {
  for (const int i : {1, 2}) {
    if (!context.has_input(i)) continue;
    ATTNRUN_RETURN_IF_ERROR(CheckSameType(context, 0, i));
    if (context.input(i).num_elements() == 1) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("input ", i, " must be a scalar, but is ", TypeAndShape(context.input(i))));
  }
  return absl::OkStatus();
}

absl::Status Clip::Reference(OpContext& context) const {
  ATTNRUN_RETURN_IF_ERROR(CheckType(context, 0, kNumbers));
  ATTNRUN_RETURN_IF_ERROR(CheckClipBounds(context));
  const Tensor& x = context.input(0);
  Tensor y;
  if (IsInteger(x.type()) && !bounds_are_attributes_) {
    ATTNRUN_ASSIGN_OR_RETURN(std::vector<int64_t> values, ToInts(x));
    ATTNRUN_RETURN_IF_ERROR(x.type() == DataType::kUint64
                                ? LimitIntegers<uint64_t>(context, values)
                                : LimitIntegers<int64_t>(context, values));
    ATTNRUN_ASSIGN_OR_RETURN(y, FromInts(x.type(), x.shape(), values, context.allocator()));
  } else {
    const double largest = LargestFinite(x.type());
    ATTNRUN_ASSIGN_OR_RETURN(const double low,
                             Bound(context, 1, bounds_are_attributes_ ? double{low_} : -largest));
    ATTNRUN_ASSIGN_OR_RETURN(const double high,
                             Bound(context, 2, bounds_are_attributes_ ? double{high_} : largest));
    ATTNRUN_ASSIGN_OR_RETURN(std::vector<double> values, ToDoubles(x));
    for (double& value : values) value = Limit(value, low, high);
    ATTNRUN_ASSIGN_OR_RETURN(y, FromDoubles(x.type(), x.shape(), values, context.allocator()));
  }
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

}  // namespace attnrun::ops
