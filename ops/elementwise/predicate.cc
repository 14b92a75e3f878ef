// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise/predicate.h"

#include "ops/elementwise/infer.h"

namespace attnrun::ops {

void Predicate::Infer(InferContext& context) const {
  if (function_ != PredicateFunction::kNot) return InferSameShape(context, DataType::kBool);
  InferBroadcast(context, DataType::kBool, [](absl::Span<const SymInt> elements) {
    const std::optional<int64_t> x = elements[0].constant();
    return x.has_value() ? SymInt(*x == 0 ? 1 : 0) : SymInt::Unknown();
  });
}

void RegisterPredicate(OpRegistry& registry) {
  registry.Register({.domain = "",
                     .name = "Not",
                     .since = {1},
                     .inputs = {1, 1},
                     .outputs = {1, 1},
                     .make =
                         [](AttributeReader& /*unused*/) {
                           return std::make_unique<Predicate>(PredicateFunction::kNot, false,
                                                              false);
                         },
                     .traits = kElementwise});
  registry.Register({.domain = "",
                     .name = "IsNaN",
                     .since = {9, 13, 20},
                     .inputs = {1, 1},
                     .outputs = {1, 1},
                     .make =
                         [](AttributeReader& /*unused*/) {
                           return std::make_unique<Predicate>(PredicateFunction::kIsNaN, false,
                                                              false);
                         },
                     .traits = kElementwise});
  registry.Register({.domain = "",
                     .name = "IsInf",
                     .since = {10, 20},
                     .inputs = {1, 1},
                     .outputs = {1, 1},
                     .make =
                         [](AttributeReader& attributes) {
                           const bool negative = attributes.Int("detect_negative", 1) != 0;
                           const bool positive = attributes.Int("detect_positive", 1) != 0;
                           return std::make_unique<Predicate>(PredicateFunction::kIsInf, negative,
                                                              positive);
                         },
                     .traits = kElementwise});
}

}  // namespace attnrun::ops
