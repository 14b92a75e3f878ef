#include "ops/softmax/softmax.h"

namespace attnrun {

Softmax::Softmax(AttributeReader& attributes, bool logarithm)
    : axis_(attributes.Int("axis", attributes.version() < 13 ? 1 : -1)),
      flatten_(attributes.version() < 13),
      logarithm_(logarithm) {}

void Softmax::Infer(InferContext& context) const {
  context.SetOutput(0, {context.input(0).type, context.input(0).dims, std::nullopt});
}

void RegisterSoftmax(OpRegistry& registry) {
  for (const bool logarithm : {false, true}) {
    registry.Register({.domain = "",
                       .name = logarithm ? "LogSoftmax" : "Softmax",
                       .since = {1, 11, 13},
                       .inputs = {1, 1},
                       .outputs = {1, 1},
                       .make = [logarithm](AttributeReader& attributes) {
                         return std::make_unique<Softmax>(attributes, logarithm);
                       }});
  }
}

}  // namespace attnrun
