// SPDX-License-Identifier: Apache-2.0
#include "ops/interface/families.h"
#include "ops/signal/dft.h"
#include "ops/signal/windows.h"

namespace attnrun::ops {
namespace {

void RegisterWindow(OpRegistry& registry, absl::string_view name,
                    std::array<double, 3> coefficients) {
  registry.Register(
      {"", std::string(name), {17}, {1, 1}, {1, 1}, [coefficients](AttributeReader& attributes) {
         return std::make_unique<CosineWindow>(attributes, coefficients);
       }});
}

}  // namespace

void RegisterSignal(OpRegistry& registry) {
  RegisterWindow(registry, "BlackmanWindow", {0.42, 0.5, 0.08});
  registry.Register({"", "DFT", {17, 20}, {1, 3}, {1, 1}, Make<Dft>});
  // Textbooks round these to 0.54 and 0.46; ONNX does not.
  RegisterWindow(registry, "HammingWindow", {25.0 / 46, 21.0 / 46, 0});
  RegisterWindow(registry, "HannWindow", {0.5, 0.5, 0});
  registry.Register({"", "MelWeightMatrix", {17}, {5, 5}, {1, 1}, Make<MelWeightMatrix>});
  registry.Register({"", "STFT", {17}, {2, 4}, {1, 1}, Make<Stft>});
}

}  // namespace attnrun::ops
