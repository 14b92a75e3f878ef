// SPDX-License-Identifier: Apache-2.0
#include "ops/generate/constant.h"
#include "ops/generate/onehot.h"
#include "ops/generate/random.h"
#include "ops/generate/range.h"
#include "ops/interface/families.h"

namespace attnrun::ops {

namespace {

void RegisterRandom(OpRegistry& registry, absl::string_view name, bool normal, bool like) {
  registry.Register({"",
                     std::string(name),
                     {1, 22},
                     {like ? 1 : 0, like ? 1 : 0},
                     {1, 1},
                     [normal, like](AttributeReader& attributes) {
                       return std::make_unique<RandomOp>(attributes, normal, like);
                     },
                     kRandom});
}

}  // namespace

void RegisterGenerate(OpRegistry& registry) {
  registry.Register({"", "Bernoulli", {15, 22}, {1, 1}, {1, 1}, Make<Bernoulli>, kRandom});
  registry.Register(
      {"", "Constant", {1, 9, 11, 12, 13, 19, 21, 23, 24, 25}, {0, 0}, {1, 1}, Make<Constant>});
  registry.Register({"",
                     "ConstantOfShape",
                     {9, 20, 21, 23, 24, 25},
                     {1, 1},
                     {1, 1},
                     Make<ConstantOfShape>,
                     SameSince(13)});
  registry.Register({"", "EyeLike", {9, 22}, {1, 1}, {1, 1}, Make<EyeLike>});
  registry.Register({"", "Multinomial", {7, 22}, {1, 1}, {1, 1}, Make<Multinomial>, kRandom});
  registry.Register({"", "OneHot", {9, 11, 28}, {3, 3}, {1, 1}, Make<OneHot>});
  RegisterRandom(registry, "RandomNormal", /*normal=*/true, /*like=*/false);
  RegisterRandom(registry, "RandomNormalLike", /*normal=*/true, /*like=*/true);
  RegisterRandom(registry, "RandomUniform", /*normal=*/false, /*like=*/false);
  RegisterRandom(registry, "RandomUniformLike", /*normal=*/false, /*like=*/true);
  registry.Register({"", "Range", {11, 27}, {3, 3}, {1, 1}, Make<Range>});
}

}  // namespace attnrun::ops
