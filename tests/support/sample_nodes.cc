// SPDX-License-Identifier: Apache-2.0
#include "support/sample_nodes.h"

#include <random>

#include "support/op_tester.h"

namespace attnrun::testing {

std::vector<SampleNode> AllSamples() {
  std::vector<SampleNode> all;
  for (const auto& samples :
       {ShapeSamples(), MovementSamples(), GatheringSamples(), GeneratingSamples(),
        IntegerSamples(), ElementwiseSamples(), ProductSamples(), ReductionSamples(),
        LayerSamples(), AttentionSamples(), ImageSamples(), SignalSamples(), InternalSamples(),
        ContribRowSamples(), ContribProductSamples(), ContribAttentionSamples()}) {
    all.insert(all.end(), samples.begin(), samples.end());
  }
  return all;
}

Tensor F(const Ints& shape) {
  std::mt19937 generator(7);
  return RandomFloats(shape, generator);
}
Tensor I(const Ints& elements) {
  const auto count = static_cast<int64_t>(elements.size());
  return Make<int64_t>({count}, elements);
}
Tensor I0(int64_t element) { return Make<int64_t>({}, {element}); }
Tensor Int32(const Ints& shape, const std::vector<int32_t>& elements) {
  return Make<int32_t>(shape, elements);
}
Tensor F0(float element) { return Make<float>({}, {element}); }
Tensor Bytes(const Ints& shape) {
  std::mt19937 generator(7);
  return RandomInts(DataType::kUint8, shape, generator, 0, 255);
}
Tensor SmallBytes(const Ints& shape) {
  std::mt19937 generator(1);
  return RandomInts(DataType::kInt8, shape, generator, -3, 3);
}
Tensor None() { return Tensor(); }
AttributeMap Int(const char* name, int64_t value) { return {{name, value}}; }
AttributeMap List(const char* name, Ints values) { return {{name, std::move(values)}}; }
AttributeMap Words(const char* name, const char* text) { return {{name, std::string(text)}}; }

}  // namespace attnrun::testing
