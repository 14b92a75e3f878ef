// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GATHER_SCATTER_COMBINE_H_
#define ATTNRUN_OPS_GATHER_SCATTER_COMBINE_H_

#include <cmath>
#include <type_traits>

#include "attnrun/data_type.h"
#include "ops/gather/scatter_reduction.h"

// Reductions for the kernels of scattering operators.
namespace attnrun::ops {

// True for the types that WithNumber knows.
inline bool IsCombinable(DataType type) {
  return type == DataType::kFloat || type == DataType::kDouble || type == DataType::kInt32 ||
         type == DataType::kInt64;
}

// Calls visit(T()) with the C++ type. Precondition: IsCombinable.
template <typename Visit>
void WithNumber(DataType type, Visit visit) {
  if (type == DataType::kFloat) return visit(float());
  if (type == DataType::kDouble) return visit(double());
  if (type == DataType::kInt32) return visit(int32_t());
  return visit(int64_t());
}

// The sum or the product; that of integers is taken modulo 2^n, as overflow is undefined otherwise.
template <typename T>
T Sum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  } else {
    return a + b;
  }
}
template <typename T>
T Product(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
  } else {
    return a * b;
  }
}

// True for NaN, which wins.
template <typename T>
bool IsNaN(T a) {
  if constexpr (std::is_integral_v<T>) return false;
  return std::isnan(static_cast<double>(a));
}

// Calls visit(combine) with the function of two T of a reduction.
template <typename T, typename Visit>
void WithCombination(ScatterReduction reduction, Visit visit) {
  switch (reduction) {
    case ScatterReduction::kAdd:
      return visit([](T a, T b) { return Sum(a, b); });
    case ScatterReduction::kMul:
      return visit([](T a, T b) { return Product(a, b); });
    case ScatterReduction::kMax:
      return visit([](T a, T b) { return IsNaN(a) || a > b ? a : b; });
    case ScatterReduction::kMin:
      return visit([](T a, T b) { return IsNaN(a) || a < b ? a : b; });
    default:
      return visit([](T /*a*/, T b) { return b; });
  }
}

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GATHER_SCATTER_COMBINE_H_
