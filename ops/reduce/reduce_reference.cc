// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/elements.h"
#include "core/status.h"
#include "core/strided.h"
#include "ops/reduce/reduce.h"

namespace attnrun::ops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double First(Reduction reduction) {
  switch (reduction) {
    case Reduction::kProd:
      return 1;
    case Reduction::kMax:
      return -kInfinity;
    case Reduction::kMin:
      return kInfinity;
    default:
      return 0;
  }
}

double Next(Reduction reduction, double so_far, double x) {
  switch (reduction) {
    case Reduction::kSum:
    case Reduction::kMean:
    case Reduction::kLogSum:
      return so_far + x;
    case Reduction::kMax:
      return x > so_far || std::isnan(x) ? x : so_far;
    case Reduction::kMin:
      return x < so_far || std::isnan(x) ? x : so_far;
    case Reduction::kProd:
      return so_far * x;
    case Reduction::kL1:
      return so_far + std::fabs(x);
    case Reduction::kL2:
    case Reduction::kSumSquare:
      return so_far + x * x;
    case Reduction::kLogSumExp:
      return so_far + std::exp(x);
  }
  return x;
}

double Last(Reduction reduction, double total, double count) {
  switch (reduction) {
    case Reduction::kMean:
      return total / count;
    case Reduction::kL2:
      return std::sqrt(total);
    case Reduction::kLogSum:
    case Reduction::kLogSumExp:
      return std::log(total);
    default:
      return total;
  }
}

// Likewise for integers, modulo 2^64.
int64_t NextInteger(Reduction reduction, int64_t so_far, int64_t x, bool is_unsigned) {
  const auto a = static_cast<uint64_t>(so_far);
  const auto b = static_cast<uint64_t>(x);
  const bool less = is_unsigned ? b < a : x < so_far;
  switch (reduction) {
    case Reduction::kMax:
      return less ? so_far : x;
    case Reduction::kMin:
      return less ? x : so_far;
    case Reduction::kProd:
      return static_cast<int64_t>(a * b);
    case Reduction::kSumSquare:
      return static_cast<int64_t>(a + b * b);
    case Reduction::kL1:
      return static_cast<int64_t>(x < 0 && !is_unsigned ? a - b : a + b);
    default:
      return static_cast<int64_t>(a + b);
  }
}

int64_t FirstInteger(Reduction reduction, DataType type) {
  const int bits = type == DataType::kBool ? 1 : BitWidth(type);
  const uint64_t top = uint64_t{1} << (bits - 1);
  switch (reduction) {
    case Reduction::kProd:
      return 1;
    case Reduction::kMax:
      return IsSignedInteger(type) ? static_cast<int64_t>(-top) : 0;
    case Reduction::kMin:
      return static_cast<int64_t>(IsSignedInteger(type) ? top - 1 : top - 1 + top);
    default:
      return 0;
  }
}

bool IsExactOnIntegers(Reduction reduction) {
  return reduction != Reduction::kL2 && reduction != Reduction::kLogSum &&
         reduction != Reduction::kLogSumExp;
}

// Calls visit(i, target) for every element i of x; `target` is the output element that it belongs
// to.
template <typename Visit>
absl::Status ForEachTarget(const Tensor& x, const ReduceShape& shape, Visit visit) {
  ATTNRUN_ASSIGN_OR_RETURN(const Shape strides, BroadcastStrides(shape.kept, x.shape()));
  int64_t i = 0;
  ForEachOffset(x.shape(), strides, [&](int64_t target) { visit(i++, target); });
  return absl::OkStatus();
}

// Accumulators in a tensor, so that an absurdly large shape fails like any other allocation.
template <typename T>
absl::StatusOr<Tensor> Filled(const Shape& shape, T value, Allocator& allocator) {
  ATTNRUN_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(DataTypeOf<T>(), shape, allocator));
  std::fill_n(tensor.mutable_data<T>(), tensor.num_elements(), value);
  return tensor;
}

absl::StatusOr<Tensor> ReduceIntegers(const Tensor& x, const ReduceShape& shape,
                                      Reduction reduction, Allocator& allocator) {
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> values, ToInts(x));
  ATTNRUN_ASSIGN_OR_RETURN(Tensor totals,
                           Filled(shape.output, FirstInteger(reduction, x.type()), allocator));
  const bool is_unsigned = x.type() == DataType::kUint64;
  auto* total = totals.mutable_data<int64_t>();
  ATTNRUN_RETURN_IF_ERROR(ForEachTarget(x, shape, [&](int64_t i, int64_t target) {
    total[target] = NextInteger(reduction, total[target], values[i], is_unsigned);
  }));
  if (reduction == Reduction::kMean && x.num_elements() > 0) {
    const int64_t count = x.num_elements() / totals.num_elements();
    for (int64_t i = 0; i < totals.num_elements(); ++i) {
      total[i] = is_unsigned ? static_cast<int64_t>(static_cast<uint64_t>(total[i]) / count)
                             : total[i] / count;
    }
  }
  return FromInts(x.type(), shape.output, {total, static_cast<size_t>(totals.num_elements())},
                  allocator);
}

absl::StatusOr<Tensor> ReduceFloats(const Tensor& x, const ReduceShape& shape, Reduction reduction,
                                    Allocator& allocator) {
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(x));
  ATTNRUN_ASSIGN_OR_RETURN(Tensor totals, Filled(shape.output, First(reduction), allocator));
  // LogSumExp: the greatest element, if finite, which is subtracted before exp.
  ATTNRUN_ASSIGN_OR_RETURN(Tensor shifts, Filled(shape.output, -kInfinity, allocator));
  auto* total = totals.mutable_data<double>();
  auto* shift = shifts.mutable_data<double>();
  if (reduction == Reduction::kLogSumExp) {
    ATTNRUN_RETURN_IF_ERROR(ForEachTarget(x, shape, [&](int64_t i, int64_t target) {
      shift[target] = std::max(shift[target], values[i]);
    }));
  }
  for (int64_t i = 0; i < shifts.num_elements(); ++i) {
    if (!std::isfinite(shift[i])) shift[i] = 0;
  }
  ATTNRUN_RETURN_IF_ERROR(ForEachTarget(x, shape, [&](int64_t i, int64_t target) {
    total[target] = Next(reduction, total[target], values[i] - shift[target]);
  }));
  const double count = static_cast<double>(x.num_elements()) /
                       static_cast<double>(std::max<int64_t>(totals.num_elements(), 1));
  for (int64_t i = 0; i < totals.num_elements(); ++i) {
    total[i] = Last(reduction, total[i], count) + shift[i];
  }
  return FromDoubles(x.type(), shape.output, {total, static_cast<size_t>(totals.num_elements())},
                     allocator);
}

}  // namespace

absl::Status Reduce::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(const ReduceShape shape, Resolve(context));
  const Tensor& x = context.input(0);
  const bool integers = !IsFloatingPoint(x.type()) && IsExactOnIntegers(reduction_);
  ATTNRUN_ASSIGN_OR_RETURN(Tensor y, integers
                                         ? ReduceIntegers(x, shape, reduction_, context.allocator())
                                         : ReduceFloats(x, shape, reduction_, context.allocator()));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

}  // namespace attnrun::ops
