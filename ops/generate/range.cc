// SPDX-License-Identifier: Apache-2.0
#include "ops/generate/range.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"

namespace attnrun::ops {
namespace {

template <typename T>
absl::Status NoRange(T start, T limit, T delta) {
  return absl::InvalidArgumentError(
      absl::StrCat("there is no range from ", start, " to ", limit, " in steps of ", delta));
}

// Computes the range in numbers of T; `read` and `write` convert from and to the type of the
// inputs.
template <typename T, typename Read, typename Write>
absl::Status Count(OpContext& context, Read read, Write write) {
  T arguments[3];
  for (int i = 0; i < 3; ++i) {
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<T> value, read(context.input(i)));
    arguments[i] = value[0];
  }
  const auto [start, limit, delta] = arguments;
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t count, RangeLength(start, limit, delta));
  // Allocate reports an absurdly large count as an error; a vector would not.
  ATTNRUN_ASSIGN_OR_RETURN(Tensor scratch,
                           Tensor::Allocate(DataTypeOf<T>(), {count}, context.allocator()));
  T* values = scratch.mutable_data<T>();
  for (int64_t i = 0; i < count; ++i) {
    // Integers do not overflow: they stay between start and limit.
    values[i] =
        std::is_integral_v<T> && i > 0 ? values[i - 1] + delta : start + static_cast<T>(i) * delta;
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor y, write(context.input(0).type(), {count},
                                           absl::Span<const T>(values, static_cast<size_t>(count)),
                                           context.allocator()));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int64_t> RangeLength(int64_t start, int64_t limit, int64_t delta) {
  if (delta == 0) return NoRange(start, limit, delta);
  if (delta > 0 ? start >= limit : start <= limit) return 0;
  // The distance of any two int64, and the magnitude of any delta, fit in uint64.
  const auto first = static_cast<uint64_t>(start);
  const auto last = static_cast<uint64_t>(limit);
  const uint64_t distance = delta > 0 ? last - first : first - last;
  const uint64_t step = delta > 0 ? static_cast<uint64_t>(delta) : 0 - static_cast<uint64_t>(delta);
  const uint64_t steps_before_last = (distance - 1) / step;
  if (steps_before_last >= std::numeric_limits<int64_t>::max()) {
    return NoRange(start, limit, delta);
  }
  return static_cast<int64_t>(steps_before_last + 1);
}

absl::StatusOr<int64_t> RangeLength(double start, double limit, double delta) {
  const double length = std::ceil((limit - start) / delta);
  constexpr double kTooMany = 9223372036854775808.0;
  if (delta == 0 || std::isnan(length) || length >= kTooMany) return NoRange(start, limit, delta);
  return length <= 0 ? 0 : static_cast<int64_t>(length);
}

Range::Range(AttributeReader& attributes) : half_types_(attributes.version() >= 27) {
  if (half_types_) stash_type_ = attributes.Int("stash_type", stash_type_);
}

absl::Status Range::CheckTypes(const OpContext& context) const {
  const DataType type = context.input(0).type();
  for (int i = 0; i < 3; ++i) {
    const Tensor& x = context.input(i);
    if (x.type() == type && x.num_elements() == 1) continue;
    return absl::InvalidArgumentError(absl::StrCat("start, limit and delta must be scalars of ",
                                                   "one type, but input ", i, " is ",
                                                   TypeAndShape(x)));
  }
  switch (type) {
    case DataType::kFloat:
    case DataType::kDouble:
    case DataType::kInt16:
    case DataType::kInt32:
    case DataType::kInt64:
      return absl::OkStatus();
    case DataType::kFloat16:
    case DataType::kBfloat16:
      if (half_types_ && stash_type_ == 1) return absl::OkStatus();
      break;
    default:
      break;
  }
  return absl::InvalidArgumentError(absl::StrCat("a range of ", Name(type),
                                                 half_types_ ? " and this stash_type" : "",
                                                 " is not covered by this version"));
}

absl::Status Range::Reference(OpContext& context) const {
  ATTNRUN_RETURN_IF_ERROR(CheckTypes(context));
  if (IsInteger(context.input(0).type())) {
    return Count<int64_t>(context, ToInts, FromInts);
  }
  return Count<double>(context, ToDoubles, FromDoubles);
}

}  // namespace attnrun::ops
