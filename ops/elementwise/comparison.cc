#include "ops/elementwise/comparison.h"

#include "ops/elementwise/infer.h"

namespace attnrun {

void Comparison::Infer(InferContext& context) const { InferBroadcast(context, DataType::kBool); }

void RegisterComparison(OpRegistry& registry) {
  struct Entry {
    const char* name;
    ComparisonFunction function;
    std::vector<int> since;
    TypeSet types;
  };
  const Entry entries[] = {
      {"And", ComparisonFunction::kAnd, {7}, kBools},
      {"Equal", ComparisonFunction::kEqual, {7, 11, 13, 19}, kBools | kNumbers | kStrings},
      {"Greater", ComparisonFunction::kGreater, {7, 9, 13}, kNumbers},
      {"GreaterOrEqual", ComparisonFunction::kGreaterOrEqual, {12, 16}, kNumbers},
      {"Less", ComparisonFunction::kLess, {7, 9, 13}, kNumbers},
      {"LessOrEqual", ComparisonFunction::kLessOrEqual, {12, 16}, kNumbers},
      {"Or", ComparisonFunction::kOr, {7}, kBools},
      {"Xor", ComparisonFunction::kXor, {7}, kBools},
  };
  for (const Entry& entry : entries) {
    registry.Register(
        {.domain = "",
         .name = entry.name,
         .since = entry.since,
         .inputs = {2, 2},
         .outputs = {1, 1},
         .make = [function = entry.function, types = entry.types](AttributeReader& /*unused*/) {
           return std::make_unique<Comparison>(function, types);
         }});
  }
}

}  // namespace attnrun
