// SPDX-License-Identifier: Apache-2.0
#include "ops/interface/families.h"
#include "ops/search/arg.h"
#include "ops/search/nonzero.h"
#include "ops/search/topk.h"
#include "ops/search/unique.h"

namespace attnrun::ops {

void RegisterSearch(OpRegistry& registry) {
  registry.Register(
      {"", "ArgMax", {1, 11, 12, 13}, {1, 1}, {1, 1}, [](AttributeReader& attributes) {
         return std::make_unique<ArgOp>(attributes, /*least=*/false);
       }});
  registry.Register(
      {"", "ArgMin", {1, 11, 12, 13}, {1, 1}, {1, 1}, [](AttributeReader& attributes) {
         return std::make_unique<ArgOp>(attributes, /*least=*/true);
       }});
  registry.Register({"", "NonZero", {9, 13}, {1, 1}, {1, 1}, Make<NonZero>});
  registry.Register({"", "TopK", {1, 10, 11, 24}, {1, 2}, {2, 2}, Make<TopK>});
  registry.Register({"", "Unique", {11, 28}, {1, 1}, {1, 4}, Make<Unique>});
}

}  // namespace attnrun::ops
