// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise/arithmetic.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/strided.h"
#include "ops/elementwise/infer.h"
#include "ops/tensors/strided_copy.h"

namespace attnrun::ops {
namespace {

bool Divides(BinaryFunction function) {
  return function == BinaryFunction::kDiv || function == BinaryFunction::kFloorDiv ||
         function == BinaryFunction::kFloorMod || function == BinaryFunction::kTruncMod;
}

struct ArithmeticEntry {
  const char* domain;
  const char* name;
  BinaryFunction function;
  std::vector<int> since;
  TypeSet types;
  OpTraits traits = kBroadcasting;
};

void RegisterBinary(OpRegistry& registry, const ArithmeticEntry& entry) {
  registry.Register(
      {.domain = entry.domain,
       .name = entry.name,
       .since = entry.since,
       .inputs = {2, 2},
       .outputs = {1, 1},
       .make =
           [function = entry.function, types = entry.types](AttributeReader& /*unused*/) {
             return std::make_unique<Binary>(function, types);
           },
       .traits = entry.traits});
}

void RegisterVariadic(OpRegistry& registry, const ArithmeticEntry& entry) {
  registry.Register({.domain = entry.domain,
                     .name = entry.name,
                     .since = entry.since,
                     .inputs = ListOf(1),
                     .outputs = {1, 1},
                     .make =
                         [entry](AttributeReader& /*unused*/) {
                           const bool mean = absl::string_view(entry.name) == "Mean";
                           return std::make_unique<Variadic>(entry.function, mean, entry.types);
                         },
                     .traits = entry.traits});
}

// Only from version 28 on does ONNX define the remainder of floats with the divisor's sign.
std::unique_ptr<Binary> MakeMod(AttributeReader& attributes) {
  const bool truncate = attributes.Int("fmod", 0) != 0;
  if (truncate) return std::make_unique<Binary>(BinaryFunction::kTruncMod, kNumbers);
  return std::make_unique<Binary>(BinaryFunction::kFloorMod,
                                  attributes.version() < 28 ? kIntegers : kNumbers);
}

std::unique_ptr<Binary> MakeBitShift(AttributeReader& attributes) {
  attributes.Required<std::string>("direction");
  const bool left = attributes.OneOf("direction", "LEFT", {"LEFT", "RIGHT"}) == "LEFT";
  return std::make_unique<Binary>(left ? BinaryFunction::kShiftLeft : BinaryFunction::kShiftRight,
                                  kIntegers);
}

// f of integers that may depend on extents. Extents and their products are assumed to fit their
// type.
SymInt Apply(const InferContext& context, BinaryFunction function, const SymInt& a, const SymInt& b,
             DataType type) {
  const std::optional<int64_t> x = a.constant();
  const std::optional<int64_t> y = b.constant();
  if (type != DataType::kInt64 && type != DataType::kInt32) return SymInt::Unknown();
  if (Divides(function) && b.is_constant(0)) return SymInt::Unknown();
  if (x.has_value() && y.has_value()) {
    const int64_t result = ApplyBinary(function, *x, *y, type);
    const bool wraps = type == DataType::kInt32 && result != static_cast<int32_t>(result);
    return wraps ? SymInt::Unknown() : SymInt(result);
  }
  const int64_t divisor = y.value_or(0);
  switch (function) {
    case BinaryFunction::kAdd:
      return a + b;
    case BinaryFunction::kSub:
      return a - b;
    case BinaryFunction::kMul:
      return a * b;
    case BinaryFunction::kDiv:
      if (divisor > 0 && context.IsNeverNegative(a)) return SymInt::FloorQuotient(a, divisor);
      return SymInt::Quotient(a, b);
    case BinaryFunction::kFloorDiv: {
      if (divisor > 0) return SymInt::FloorQuotient(a, divisor);
      const std::optional<SymInt> exact = SymInt::DivideExactly(a, b);
      if (exact.has_value()) return *exact;
      // Without negative operands truncation and floor agree.
      const bool plain = context.IsNeverNegative(a) && context.IsNeverNegative(b);
      return plain ? SymInt::Quotient(a, b) : SymInt::Opaque("floordiv", a, b);
    }
    case BinaryFunction::kMin:
      if (context.IsNeverNegative(b - a)) return a;
      return context.IsNeverNegative(a - b) ? b : SymInt::Opaque("min", a, b);
    case BinaryFunction::kMax:
      if (context.IsNeverNegative(a - b)) return a;
      return context.IsNeverNegative(b - a) ? b : SymInt::Opaque("max", a, b);
    case BinaryFunction::kFloorMod:
      if (divisor > 0) return a - b * SymInt::FloorQuotient(a, divisor);
      return SymInt::Opaque("mod", a, b);
    case BinaryFunction::kTruncMod:
      return SymInt::Opaque("fmod", a, b);
    default:
      return SymInt::Unknown();
  }
}

bool ContainsZero(const Tensor& tensor, int width) {
  static constexpr char kZero[8] = {};
  bool found = false;
  const Shape strides = StridesOf(tensor);
  ForEachOffset(tensor.shape(), strides, [&](int64_t offset) {
    found = found || std::memcmp(tensor.data<char>() + offset * width, kZero, width) == 0;
  });
  return found;
}

}  // namespace

absl::Status CheckDivisor(BinaryFunction function, const OpContext& context) {
  const Tensor& divisor = context.input(1);
  if (!Divides(function) || !IsInteger(divisor.type()) ||
      !ContainsZero(divisor, BitWidth(divisor.type()) / 8)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("division by zero: input 1, ", TypeAndShape(divisor), ", holds a 0"));
}

absl::Status CheckSlope(const OpContext& context) {
  const absl::StatusOr<Shape> shape =
      BroadcastShapes(context.input(0).shape(), context.input(1).shape());
  if (shape.ok() && *shape == context.input(0).shape()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("slope ", ToString(context.input(1).shape()),
                                                 " does not broadcast to the input ",
                                                 ToString(context.input(0).shape())));
}

void Binary::Infer(InferContext& context) const {
  const DataType type = context.input(0).type;
  InferBroadcast(context, type, [&](absl::Span<const SymInt> elements) {
    SymInt result = Apply(context, function_, elements[0], elements[1], type);
    // A remainder has the sign of the divisor.
    const bool remains = function_ == BinaryFunction::kFloorMod;
    if (remains && elements[1].constant().value_or(0) > 0) context.Require(result);
    return result;
  });
}

void Pow::Infer(InferContext& context) const { InferBroadcast(context, context.input(0).type); }

void Variadic::Infer(InferContext& context) const {
  const DataType type = context.input(0).type;
  InferBroadcast(context, type, [&](absl::Span<const SymInt> elements) {
    SymInt result = elements[0];
    for (size_t i = 1; i < elements.size(); ++i) {
      result = Apply(context, function_, result, elements[i], type);
    }
    return result;
  });
}

void RegisterArithmetic(OpRegistry& registry) {
  const ArithmeticEntry binaries[] = {
      {"", "Add", BinaryFunction::kAdd, {7, 13, 14}, kNumbers, kCommuting},
      {"", "BitwiseAnd", BinaryFunction::kBitwiseAnd, {18}, kIntegers, kCommuting},
      {"", "BitwiseOr", BinaryFunction::kBitwiseOr, {18}, kIntegers, kCommuting},
      {"", "BitwiseXor", BinaryFunction::kBitwiseXor, {18}, kIntegers, kCommuting},
      {"", "Div", BinaryFunction::kDiv, {7, 13, 14}, kNumbers},
      {"attnrun", "FloorDiv", BinaryFunction::kFloorDiv, {1}, kIntegers},
      {"", "Mul", BinaryFunction::kMul, {7, 13, 14}, kNumbers, kCommuting},
      {"", "PRelu", BinaryFunction::kPRelu, {7, 9, 16}, kNumbers, kElementwise},
      {"", "Sub", BinaryFunction::kSub, {7, 13, 14}, kNumbers},
  };
  for (const ArithmeticEntry& entry : binaries) RegisterBinary(registry, entry);
  const ArithmeticEntry variadics[] = {
      {"", "Max", BinaryFunction::kMax, {6, 8, 12, 13}, kNumbers, kNearlyCommuting},
      {"", "Mean", BinaryFunction::kAdd, {6, 8, 13}, kFloats},
      {"", "Min", BinaryFunction::kMin, {6, 8, 12, 13}, kNumbers, kNearlyCommuting},
      {"", "Sum", BinaryFunction::kAdd, {6, 8, 13}, kFloats},
  };
  for (const ArithmeticEntry& entry : variadics) RegisterVariadic(registry, entry);
  registry.Register({.domain = "",
                     .name = "BitShift",
                     .since = {11, 28},
                     .inputs = {2, 2},
                     .outputs = {1, 1},
                     .make = MakeBitShift,
                     .traits = kBroadcasting,
                     .reference_only = true});
  registry.Register({.domain = "",
                     .name = "Mod",
                     .since = {10, 13, 28},
                     .inputs = {2, 2},
                     .outputs = {1, 1},
                     .make = MakeMod,
                     .traits = kBroadcasting});
  registry.Register({.domain = "",
                     .name = "Pow",
                     .since = {7, 12, 13, 15},
                     .inputs = {2, 2},
                     .outputs = {1, 1},
                     .make = [](AttributeReader& /*unused*/) { return std::make_unique<Pow>(); },
                     .traits = kBroadcasting});
}

}  // namespace attnrun::ops
