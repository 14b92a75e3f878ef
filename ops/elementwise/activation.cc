// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "ops/elementwise/unary.h"

namespace attnrun::ops {
namespace {

// `alpha`, `beta`, `gamma`: the defaults of the attributes that the operator has.
struct ActivationEntry {
  const char* name;
  UnaryFunction function;
  std::vector<int> since;
  TypeSet types = kFloats;
  std::optional<float> alpha{};
  std::optional<float> beta{};
  std::optional<float> gamma{};
  OpTraits traits = kElementwise;
};

void Register(OpRegistry& registry, const ActivationEntry& entry) {
  registry.Register({.domain = "",
                     .name = entry.name,
                     .since = entry.since,
                     .inputs = {1, 1},
                     .outputs = {1, 1},
                     .make =
                         [entry](AttributeReader& attributes) {
                           UnaryParameters p;
                           if (entry.alpha) p.alpha = attributes.Float("alpha", *entry.alpha);
                           if (entry.beta) p.beta = attributes.Float("beta", *entry.beta);
                           if (entry.gamma) p.gamma = attributes.Float("gamma", *entry.gamma);
                           return std::make_unique<Unary>(entry.function, p, entry.types);
                         },
                     .traits = entry.traits});
}

std::unique_ptr<Unary> MakeGelu(AttributeReader& attributes) {
  const bool tanh = attributes.OneOf("approximate", "none", {"none", "tanh"}) == "tanh";
  return std::make_unique<Unary>(tanh ? UnaryFunction::kGeluTanh : UnaryFunction::kGelu,
                                 UnaryParameters{}, kFloats);
}

std::unique_ptr<Unary> MakeShrink(AttributeReader& attributes) {
  UnaryParameters p;
  p.alpha = attributes.Float("lambd", 0.5F);
  p.beta = attributes.Float("bias", 0);
  return std::make_unique<Unary>(UnaryFunction::kShrink, p, kNumbers);
}

}  // namespace

void RegisterActivation(OpRegistry& registry) {
  const ActivationEntry entries[] = {
      {.name = "Celu", .function = UnaryFunction::kCelu, .since = {12, 28}, .alpha = 1.0F},
      {.name = "Elu", .function = UnaryFunction::kElu, .since = {6, 22}, .alpha = 1.0F},
      {.name = "HardSigmoid",
       .function = UnaryFunction::kHardSigmoid,
       .since = {6, 22},
       .alpha = 0.2F,
       .beta = 0.5F,
       .traits = kElementwise | kBounded},
      {.name = "HardSwish", .function = UnaryFunction::kHardSwish, .since = {14, 22}},
      {.name = "LeakyRelu",
       .function = UnaryFunction::kLeakyRelu,
       .since = {6, 16},
       .alpha = 0.01F},
      {.name = "Mish", .function = UnaryFunction::kMish, .since = {18, 22}},
      {.name = "Relu",
       .function = UnaryFunction::kRelu,
       .since = {6, 13, 14},
       .types = kFloats | kSignedIntegers},
      {.name = "Selu",
       .function = UnaryFunction::kSelu,
       .since = {6, 22},
       .alpha = 1.67326319217681884765625F,
       .gamma = 1.05070102214813232421875F},
      {.name = "Sigmoid",
       .function = UnaryFunction::kSigmoid,
       .since = {6, 13},
       .traits = kElementwise | kBounded},
      {.name = "Softplus", .function = UnaryFunction::kSoftplus, .since = {1, 22}},
      {.name = "Softsign",
       .function = UnaryFunction::kSoftsign,
       .since = {1, 22},
       .traits = kElementwise | kBounded},
      {.name = "Swish", .function = UnaryFunction::kSwish, .since = {24}, .alpha = 1.0F},
      {.name = "ThresholdedRelu",
       .function = UnaryFunction::kThresholdedRelu,
       .since = {10, 22},
       .alpha = 1.0F},
  };
  for (const ActivationEntry& entry : entries) Register(registry, entry);
  registry.Register({.domain = "",
                     .name = "Gelu",
                     .since = {20},
                     .inputs = {1, 1},
                     .outputs = {1, 1},
                     .make = MakeGelu,
                     .traits = kElementwise});
  registry.Register({.domain = "",
                     .name = "Shrink",
                     .since = {9},
                     .inputs = {1, 1},
                     .outputs = {1, 1},
                     .make = MakeShrink,
                     .traits = kElementwise});
}

}  // namespace attnrun::ops
