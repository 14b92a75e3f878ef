// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise/unary.h"

#include "ops/elementwise/infer.h"
#include "ops/interface/infer_rules.h"

namespace attnrun::ops {
namespace {

struct UnaryEntry {
  const char* name;
  UnaryFunction function;
  std::vector<int> since;
  TypeSet types;
  OpTraits traits = kElementwise;
};

}  // namespace

void Unary::Infer(InferContext& context) const {
  const DataType type = context.input(0).type;
  if (type != DataType::kInt64) return InferSameShape(context, type);
  InferBroadcast(context, type, [this](absl::Span<const SymInt> elements) {
    const SymInt& x = elements[0];
    if (function_ == UnaryFunction::kNeg) return 0 - x;
    return function_ == UnaryFunction::kAbs && x.IsNeverNegative() ? x : SymInt::Unknown();
  });
}

void RegisterUnary(OpRegistry& registry) {
  const UnaryEntry entries[] = {
      {"Abs", UnaryFunction::kAbs, {6, 13}, kNumbers},
      {"Acos", UnaryFunction::kAcos, {7, 22}, kFloats},
      {"Acosh", UnaryFunction::kAcosh, {9, 22}, kFloats},
      {"Asin", UnaryFunction::kAsin, {7, 22}, kFloats},
      {"Asinh", UnaryFunction::kAsinh, {9, 22}, kFloats},
      {"Atan", UnaryFunction::kAtan, {7, 22}, kFloats},
      {"Atanh", UnaryFunction::kAtanh, {9, 22}, kFloats},
      {"BitwiseNot", UnaryFunction::kBitwiseNot, {18}, kIntegers},
      {"Ceil", UnaryFunction::kCeil, {6, 13}, kFloats},
      {"Cos", UnaryFunction::kCos, {7, 22}, kFloats, kElementwise | kBounded},
      {"Cosh", UnaryFunction::kCosh, {9, 22}, kFloats},
      // Version 9 takes integers, too, and truncates the result.
      {"Erf", UnaryFunction::kErf, {9, 13}, kNumbers, kElementwise | kBounded},
      {"Exp", UnaryFunction::kExp, {6, 13}, kFloats},
      {"Floor", UnaryFunction::kFloor, {6, 13}, kFloats},
      {"Log", UnaryFunction::kLog, {6, 13}, kFloats},
      {"Neg", UnaryFunction::kNeg, {6, 13}, kFloats | kSignedIntegers},
      {"Reciprocal", UnaryFunction::kReciprocal, {6, 13}, kFloats},
      {"Round", UnaryFunction::kRound, {11, 22}, kFloats},
      {"Sign", UnaryFunction::kSign, {9, 13}, kNumbers},
      {"Sin", UnaryFunction::kSin, {7, 22}, kFloats, kElementwise | kBounded},
      {"Sinh", UnaryFunction::kSinh, {9, 22}, kFloats},
      {"Sqrt", UnaryFunction::kSqrt, {6, 13}, kFloats},
      {"Tan", UnaryFunction::kTan, {7, 22}, kFloats},
      {"Tanh", UnaryFunction::kTanh, {6, 13}, kFloats, kElementwise | kBounded},
  };
  for (const UnaryEntry& entry : entries) {
    registry.Register(
        {.domain = "",
         .name = entry.name,
         .since = entry.since,
         .inputs = {1, 1},
         .outputs = {1, 1},
         .make =
             [function = entry.function, types = entry.types](AttributeReader& /*unused*/) {
               return std::make_unique<Unary>(function, UnaryParameters{}, types);
             },
         .traits = entry.traits});
  }
}

}  // namespace attnrun::ops
