// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise/where.h"

#include "ops/elementwise/infer.h"

namespace attnrun::ops {

void Where::Infer(InferContext& context) const {
  const DataType type = context.input(1).type;
  InferBroadcast(context, type == DataType::kUndefined ? context.input(2).type : type,
                 [](absl::Span<const SymInt> elements) {
                   const std::optional<int64_t> condition = elements[0].constant();
                   if (condition.has_value()) return elements[*condition != 0 ? 1 : 2];
                   return elements[1] == elements[2] ? elements[1] : SymInt::Unknown();
                 });
}

void RegisterWhere(OpRegistry& registry) {
  registry.Register({.domain = "",
                     .name = "Where",
                     .since = {9, 16},
                     .inputs = {3, 3},
                     .outputs = {1, 1},
                     .make = [](AttributeReader& /*unused*/) { return std::make_unique<Where>(); },
                     .traits = kBroadcasting});
}

}  // namespace attnrun::ops
