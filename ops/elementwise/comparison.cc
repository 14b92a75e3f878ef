// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise/comparison.h"

#include "ops/elementwise/infer.h"
#include "ops/interface/infer_rules.h"

namespace attnrun::ops {
namespace {

// True if a < b in every run, false if in none, else nullopt.
std::optional<bool> IsLess(const InferContext& context, const SymInt& a, const SymInt& b) {
  if (context.IsNeverNegative(b - a - 1)) return true;
  if (context.IsNeverNegative(a - b)) return false;
  return std::nullopt;
}

std::optional<bool> Not(std::optional<bool> x) {
  return x.has_value() ? std::optional<bool>(!*x) : std::nullopt;
}

std::optional<bool> IsEqual(const InferContext& context, const SymInt& a, const SymInt& b) {
  if (a == b) return true;
  if (IsLess(context, a, b).value_or(false) || IsLess(context, b, a).value_or(false)) return false;
  return std::nullopt;
}

// f(a, b) on signed integers or bool.
std::optional<bool> Apply(const InferContext& context, ComparisonFunction function, const SymInt& a,
                          const SymInt& b) {
  switch (function) {
    case ComparisonFunction::kEqual:
      return IsEqual(context, a, b);
    case ComparisonFunction::kLess:
      return IsLess(context, a, b);
    case ComparisonFunction::kLessOrEqual:
      return Not(IsLess(context, b, a));
    case ComparisonFunction::kGreater:
      return IsLess(context, b, a);
    case ComparisonFunction::kGreaterOrEqual:
      return Not(IsLess(context, a, b));
    case ComparisonFunction::kAnd:
      if (a.is_constant(0) || b.is_constant(0)) return false;
      return a.is_constant(1) && b.is_constant(1) ? std::optional<bool>(true) : std::nullopt;
    case ComparisonFunction::kOr:
      if (a.is_constant(1) || b.is_constant(1)) return true;
      return a.is_constant(0) && b.is_constant(0) ? std::optional<bool>(false) : std::nullopt;
    case ComparisonFunction::kXor:
      return Not(IsEqual(context, a, b));
  }
  return std::nullopt;
}

}  // namespace

void Comparison::Infer(InferContext& context) const {
  const DataType type = context.input(0).type;
  if (type != DataType::kInt64 && type != DataType::kInt32 && type != DataType::kBool) {
    return InferBroadcast(context, DataType::kBool);
  }
  InferBroadcast(context, DataType::kBool, [&](absl::Span<const SymInt> elements) {
    const std::optional<bool> result = Apply(context, function_, elements[0], elements[1]);
    return result.has_value() ? SymInt(*result ? 1 : 0) : SymInt::Unknown();
  });
}

void RegisterComparison(OpRegistry& registry) {
  struct Entry {
    const char* name;
    ComparisonFunction function;
    std::vector<int> since;
    TypeSet types;
    OpTraits traits = kBroadcasting;
  };
  const Entry entries[] = {
      {"And", ComparisonFunction::kAnd, {7}, kBools, kCommuting},
      {"Equal",
       ComparisonFunction::kEqual,
       {7, 11, 13, 19},
       kBools | kNumbers | kStrings,
       kCommuting},
      {"Greater", ComparisonFunction::kGreater, {7, 9, 13}, kNumbers},
      {"GreaterOrEqual", ComparisonFunction::kGreaterOrEqual, {12, 16}, kNumbers},
      {"Less", ComparisonFunction::kLess, {7, 9, 13}, kNumbers},
      {"LessOrEqual", ComparisonFunction::kLessOrEqual, {12, 16}, kNumbers},
      {"Or", ComparisonFunction::kOr, {7}, kBools, kCommuting},
      {"Xor", ComparisonFunction::kXor, {7}, kBools, kCommuting},
  };
  for (const Entry& entry : entries) {
    registry.Register(
        {.domain = "",
         .name = entry.name,
         .since = entry.since,
         .inputs = {2, 2},
         .outputs = {1, 1},
         .make =
             [function = entry.function, types = entry.types](AttributeReader& /*unused*/) {
               return std::make_unique<Comparison>(function, types);
             },
         .traits = entry.traits});
  }
}

}  // namespace attnrun::ops
