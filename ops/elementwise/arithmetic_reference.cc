// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <functional>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/broadcast_reference.h"

namespace attnrun::ops {
namespace {

double FloorMod(double a, double b) {
  const double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

double MinOrNaN(double a, double b) { return std::isnan(a) || a < b ? a : b; }
double MaxOrNaN(double a, double b) { return std::isnan(a) || a > b ? a : b; }

// Arithmetic that wraps is done in unsigned numbers.
int64_t Signed(uint64_t value) { return static_cast<int64_t>(value); }
uint64_t Unsigned(int64_t value) { return static_cast<uint64_t>(value); }

int64_t Divide(int64_t a, int64_t b) { return b == -1 ? Signed(0 - Unsigned(a)) : a / b; }
int64_t Remainder(int64_t a, int64_t b) { return b == -1 ? 0 : a % b; }

int64_t FloorDivide(int64_t a, int64_t b) {
  const int64_t rest = Remainder(a, b);
  return Divide(a, b) - (rest != 0 && (rest < 0) != (b < 0) ? 1 : 0);
}

int64_t FloorMod(int64_t a, int64_t b) {
  const int64_t rest = Remainder(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

int64_t Shift(bool left, int64_t a, int64_t b, DataType type) {
  const bool is_signed = IsSignedInteger(type);
  if (Unsigned(b) >= static_cast<uint64_t>(BitWidth(type))) {
    return is_signed && !left && a < 0 ? -1 : 0;
  }
  if (left) return Signed(Unsigned(a) << b);
  return is_signed ? a >> b : Signed(Unsigned(a) >> b);
}

// The functions that give another result for numbers beyond int64.
int64_t ApplyToUint64(BinaryFunction function, uint64_t a, uint64_t b) {
  switch (function) {
    case BinaryFunction::kDiv:
    case BinaryFunction::kFloorDiv:
      return Signed(a / b);
    case BinaryFunction::kFloorMod:
    case BinaryFunction::kTruncMod:
      return Signed(a % b);
    case BinaryFunction::kMin:
      return Signed(std::min(a, b));
    case BinaryFunction::kMax:
      return Signed(std::max(a, b));
    case BinaryFunction::kPRelu:
      return Signed(a);
    default:
      return ApplyBinary(function, Signed(a), Signed(b), DataType::kInt64);
  }
}

}  // namespace

double ApplyBinary(BinaryFunction function, double a, double b) {
  switch (function) {
    case BinaryFunction::kAdd:
      return a + b;
    case BinaryFunction::kSub:
      return a - b;
    case BinaryFunction::kMul:
      return a * b;
    case BinaryFunction::kDiv:
      return a / b;
    case BinaryFunction::kFloorDiv:
      return std::floor(a / b);
    case BinaryFunction::kFloorMod:
      return FloorMod(a, b);
    case BinaryFunction::kTruncMod:
      return std::fmod(a, b);
    case BinaryFunction::kMin:
      return MinOrNaN(a, b);
    case BinaryFunction::kMax:
      return MaxOrNaN(a, b);
    default:
      return a < 0 ? b * a : a;
  }
}

int64_t ApplyBinary(BinaryFunction function, int64_t a, int64_t b, DataType type) {
  const bool shift =
      function == BinaryFunction::kShiftLeft || function == BinaryFunction::kShiftRight;
  if (shift) return Shift(function == BinaryFunction::kShiftLeft, a, b, type);
  if (type == DataType::kUint64) return ApplyToUint64(function, Unsigned(a), Unsigned(b));
  switch (function) {
    case BinaryFunction::kAdd:
      return Signed(Unsigned(a) + Unsigned(b));
    case BinaryFunction::kSub:
      return Signed(Unsigned(a) - Unsigned(b));
    case BinaryFunction::kMul:
      return Signed(Unsigned(a) * Unsigned(b));
    case BinaryFunction::kDiv:
      return Divide(a, b);
    case BinaryFunction::kFloorDiv:
      return FloorDivide(a, b);
    case BinaryFunction::kFloorMod:
      return FloorMod(a, b);
    case BinaryFunction::kTruncMod:
      return Remainder(a, b);
    case BinaryFunction::kMin:
      return std::min(a, b);
    case BinaryFunction::kMax:
      return std::max(a, b);
    case BinaryFunction::kPRelu:
      return a < 0 ? Signed(Unsigned(a) * Unsigned(b)) : a;
    case BinaryFunction::kBitwiseAnd:
      return a & b;
    case BinaryFunction::kBitwiseOr:
      return a | b;
    default:
      return a ^ b;
  }
}

namespace {

// Folds f over all inputs, from the left.
template <typename T>
std::vector<T> Fold(const OpContext& context, const Shape& shape,
                    const std::function<std::vector<T>(const Tensor&)>& read,
                    const std::function<T(T, T)>& f) {
  std::vector<T> result = Broadcast(read(context.input(0)), context.input(0).shape(), shape);
  for (int i = 1; i < context.num_inputs(); ++i) {
    const std::vector<T> operand =
        Broadcast(read(context.input(i)), context.input(i).shape(), shape);
    std::transform(result.begin(), result.end(), operand.begin(), result.begin(), f);
  }
  return result;
}

absl::Status Compute(OpContext& context, BinaryFunction function, double divisor) {
  ATTNRUN_ASSIGN_OR_RETURN(const Shape shape, BroadcastInputShapes(context));
  const DataType type = context.input(0).type();
  Tensor result;
  // The types have been checked, so every input converts.
  if (IsInteger(type)) {
    const std::vector<int64_t> values = Fold<int64_t>(
        context, shape, [](const Tensor& x) { return *ToInts(x); },
        [&](int64_t a, int64_t b) { return ApplyBinary(function, a, b, type); });
    ATTNRUN_ASSIGN_OR_RETURN(result, FromInts(type, shape, values, context.allocator()));
  } else {
    std::vector<double> values = Fold<double>(
        context, shape, [](const Tensor& x) { return *ToDoubles(x); },
        [&](double a, double b) { return ApplyBinary(function, a, b); });
    for (double& value : values) value /= divisor;
    ATTNRUN_ASSIGN_OR_RETURN(result, FromDoubles(type, shape, values, context.allocator()));
  }
  context.SetOutput(0, std::move(result));
  return absl::OkStatus();
}

}  // namespace

absl::Status Binary::Reference(OpContext& context) const {
  ATTNRUN_RETURN_IF_ERROR(CheckType(context, 0, types_));
  ATTNRUN_RETURN_IF_ERROR(CheckSameType(context, 0, 1));
  ATTNRUN_RETURN_IF_ERROR(CheckDivisor(function_, context));
  if (function_ == BinaryFunction::kPRelu) ATTNRUN_RETURN_IF_ERROR(CheckSlope(context));
  return Compute(context, function_, 1);
}

absl::Status Variadic::Reference(OpContext& context) const {
  for (int i = 0; i < context.num_inputs(); ++i) {
    if (!context.has_input(i)) {
      return absl::InvalidArgumentError(absl::StrCat("input ", i, " is left out"));
    }
    ATTNRUN_RETURN_IF_ERROR(CheckType(context, i, types_));
    ATTNRUN_RETURN_IF_ERROR(CheckSameType(context, 0, i));
  }
  return Compute(context, function_, mean_ ? context.num_inputs() : 1);
}

}  // namespace attnrun::ops
