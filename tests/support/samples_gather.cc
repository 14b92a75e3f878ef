// SPDX-License-Identifier: Apache-2.0
#include "support/op_tester.h"
#include "support/sample_nodes.h"

namespace attnrun::testing {

std::vector<SampleNode> GatheringSamples() {
  return {
      {"Gather", {F({4, 5}), Make<int64_t>({2, 3}, {0, 1, 2, 3, -1, -4})}},
      {"Gather", {F({4, 5}), I0(2)}, Int("axis", 1)},
      {"Gather", {I({7, 8, 9}), I({-1, 0})}},
      {"Gather", {I({7, 8, 9}), I0(1)}},
      {"Gather", {I({7, 8, 9}), Make<int64_t>({1, 1}, {1})}},
      {"GatherElements", {F({2, 3}), Make<int64_t>({2, 1}, {0, 2})}, Int("axis", 1)},
      {"ScatterElements", {F({2, 3}), Make<int64_t>({2, 1}, {0, 2}), F({2, 1})}, Int("axis", 1)},
      {"GatherND", {F({2, 3, 4}), Make<int64_t>({5, 2}, {0, 0, 1, 2, 0, 1, 1, 1, 0, 2})}},
      {"GatherND", {F({2, 3, 4}), Make<int64_t>({2, 1}, {0, 2})}, Int("batch_dims", 1)},
      {"GatherND",
       {F({2, 3, 4}), Make<int64_t>({2, 3, 1}, {0, 2, 1, 1, 1, 0})},
       Int("batch_dims", 1)},
      {"ScatterND", {F({4, 3}), Make<int64_t>({2, 1}, {0, 2}), F({2, 3})}},
      {"ScatterElements",
       {F({2, 3}), Make<int64_t>({2, 4}, {0, 2, 1, 2, 1, 1, 0, 2}), F({2, 4})},
       {{"axis", int64_t{1}}, {"reduction", std::string("add")}}},
      {.op_type = "Scatter",
       .inputs = {F({2, 3}), Make<int64_t>({2, 1}, {0, 2}), F({2, 1})},
       .attributes = Int("axis", 1),
       .opset = 10},
      {"TensorScatter", {F({2, 4, 8, 5}), F({2, 4, 1, 5}), I({0, 3})}, {}, 1, 24},
      {"Compress", {F({3, 2}), MakeBool({3}, {1, 0, 1})}, Int("axis", 0), 1, 20, true},
      {"Compress", {F({3, 2}), MakeBool({3}, {1, 0, 1})}, {}, 1, 20, true},
  };
}

std::vector<SampleNode> GeneratingSamples() {
  const Tensor two = Make<int64_t>({1}, {2});
  return {
      {"Constant", {}, List("value_ints", {3, -1})},
      {"Constant", {}, {{"value", MakeBool({2}, {1, 0})}}},
      {"ConstantOfShape", {I({2, 3})}},
      {"ConstantOfShape", {I({3})}, {{"value", two}}},
      {"ConstantOfShape", {I({})}, {{"value", two}}},
      {"Range", {I0(0), I0(5), I0(1)}},
      {"Range", {I0(2), I0(7), I0(1)}},
      {"Range", {I0(7), I0(2), I0(1)}},
      {"Range", {I0(7), I0(2), I0(-2)}},
      {"Range",
       {Make<float>({}, {0}), Make<float>({}, {2}), Make<float>({}, {0.5F})},
       {},
       1,
       20,
       true},
      {"OneHot", {I({0, 2}), I0(3), F({2})}},
      {"OneHot", {I({0, 2}), I({3}), F({2})}, Int("axis", 0)},
      {"RandomUniform", {}, List("shape", {2, 3})},
      {"RandomNormalLike", {F({2, 3})}},
      {"EyeLike", {F({2, 3})}, Int("dtype", static_cast<int64_t>(DataType::kInt64))},
      {"RandomNormal", {}, List("shape", {2, 3})},
      {"RandomUniformLike", {F({2, 3})}},
      {"Bernoulli", {F({2, 3})}},
      {"Multinomial", {F({2, 3})}, Int("sample_size", 4)},
  };
}

}  // namespace attnrun::testing
