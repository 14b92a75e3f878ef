// SPDX-License-Identifier: Apache-2.0
// The facts that operators of shapes and elements infer about their outputs must hold for the
// results.
#include "support/infer_soundness.h"
#include "gtest/gtest.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

TEST(InferSoundnessTest, Shapes) {
  ExpectSound({
      {"Shape", {F({2, 0, 5})}},
      {"Shape", {F({2, 3, 5})}, {{"start", int64_t{-2}}, {"end", int64_t{-1}}}},
      {"Shape", {F({2, 3, 5})}, {{"start", int64_t{2}}, {"end", int64_t{1}}}},
      {"Size", {F({2, 3, 5})}},
      {"Reshape", {F({2, 3, 8}), I({0, -1, 2, 4})}},
      {"Reshape", {F({2, 3, 8}), I({-1})}},
      {"Reshape", {F({2, 3, 8}), I({4, -1, 2})}},
      {"Reshape", {F({0, 8}), I({4, 0})}, Int("allowzero", 1)},
      {"Reshape", {F({1}), I({})}},
      {"Reshape", {I({5, 6}), I({2})}},
      {"Reshape", {I0(5), I({-1})}},
      {"Flatten", {F({2, 3, 5})}},
      {"Flatten", {F({2, 3, 5})}, Int("axis", -1)},
      {"Flatten", {F({2, 3, 5})}, Int("axis", 3)},
      {"Flatten", {F({})}, Int("axis", 0)},
      {"Squeeze", {F({1, 3, 1}), I({-1})}},
      {"Squeeze", {F({1, 3, 1})}},
      {"Squeeze", {I({5}), I({0})}},
      {"Squeeze", {F({1, 3, 1})}, List("axes", {0, 2}), 1, 11},
      {"Unsqueeze", {F({2, 3}), I({0, -1})}},
      {"Unsqueeze", {I0(5), I({0})}},
      {"Unsqueeze", {F({2, 3})}, List("axes", {1}), 1, 11},
  });
}

TEST(InferSoundnessTest, Movement) {
  ExpectSound({
      {"Transpose", {F({2, 3, 5})}},
      {"Transpose", {F({2, 3, 5})}, List("perm", {1, 2, 0})},
      {"Transpose", {I({4, 5})}},
      {"Concat", {F({2, 3}), F({2, 5})}, Int("axis", -1)},
      {"Concat", {I({4, 5}), I({}), I({-1})}, Int("axis", 0)},
      {"Split", {F({2, 6})}, {{"axis", int64_t{1}}, {"num_outputs", int64_t{3}}}, 3},
      {"Split", {F({7})}, Int("num_outputs", 2), 2},
      {"Split", {F({6})}, {}, 2, 13},
      {"Split", {F({6}), I({2, 4})}, {}, 2},
      {"Split", {I({4, 5, 6}), I({1, 2})}, {}, 2},
      {"Split", {F({2, 6})}, {{"axis", int64_t{1}}, {"split", Ints{1, 5}}}, 2, 11},
      {"Slice", {F({4, 9}), I({1}), I({7}), I({1}), I({2})}},
      {"Slice", {F({4, 9}), I({0}), I({4}), I({1})}},
      {"Slice", {F({4, 9}), I({4}), I({9}), I({-1})}},
      {"Slice", {F({4, 9}), I({9}), I({4}), I({1})}},
      {"Slice", {F({4, 9}), I({0, 1}), I({4, 100})}},
      {"Slice", {F({4, 9}), I({-1}), I({-100}), I({1}), I({-1})}},
      {"Slice", {F({4, 9}), I({-3}), I({INT64_MAX}), I({1})}},
      {"Slice", {F({4, 9}), I({INT64_MAX}), I({INT64_MIN}), I({1}), I({-1})}},
      {"Slice", {F({0, 9}), I({0}), I({5}), I({0})}},
      {"Slice", {I({4, 5, 6, 7}), I({1}), I({-1})}},
      {"Slice", {I({4, 5, 6, 7}), I({3}), I({-9}), I({0}), I({-2})}},
      {"Slice", {I({4, 5}), I({}), I({})}},
      {"Slice", {F({4, 9})}, {{"starts", Ints{1}}, {"ends", Ints{-1}}, {"axes", Ints{1}}}, 1, 9},
      {"Expand", {F({3, 1}), I({2, 1, 6})}},
      {"Expand", {F({3, 1}), I({3, 6})}},
      {"Expand", {I({5}), I({3})}},
      {"Expand", {I0(5), I({})}},
      {"Expand", {F({1, 3}), I({0, 1})}},
      {"Tile", {F({2, 3}), I({2, 0})}},
      {"Tile", {I({5, 6}), I({3})}},
      {"Pad", {F({2, 3}), I({0, 1, 2, 0})}},
      {"Pad", {F({2, 3}), I({-1, 2}), None(), I({-1})}},
      {"Pad", {F({2, 3})}, List("pads", {0, 1, 2, 0}), 1, 9},
      {"Trilu", {F({2, 3, 3}), I0(1)}},
      {"ReverseSequence", {F({3, 2}), I({3, 1})}},
      {"DepthToSpace", {F({1, 8, 2, 3})}, Int("blocksize", 2)},
      {"SpaceToDepth", {F({1, 2, 4, 6})}, Int("blocksize", 2)},
  });
}

TEST(InferSoundnessTest, Gathering) {
  ExpectSound({
      {"Gather", {F({4, 5}), Make<int64_t>({2, 3}, {0, 1, 2, 3, -1, -4})}},
      {"Gather", {F({4, 5}), I0(2)}, Int("axis", 1)},
      {"Gather", {I({7, 8, 9}), I({-1, 0})}},
      {"Gather", {I({7, 8, 9}), I0(1)}},
      {"Gather", {I({7, 8, 9}), Make<int64_t>({1, 1}, {1})}},
      {"GatherElements", {F({2, 3}), Make<int64_t>({2, 1}, {0, 2})}, Int("axis", 1)},
      {"ScatterElements", {F({2, 3}), Make<int64_t>({2, 1}, {0, 2}), F({2, 1})}, Int("axis", 1)},
      {"GatherND", {F({2, 3, 4}), Make<int64_t>({5, 2}, {0, 0, 1, 2, 0, 1, 1, 1, 0, 2})}},
      {"GatherND", {F({2, 3, 4}), Make<int64_t>({2, 1}, {0, 2})}, Int("batch_dims", 1)},
      {"ScatterND", {F({4, 3}), Make<int64_t>({2, 1}, {0, 2}), F({2, 3})}},
      {"TensorScatter", {F({2, 4, 8, 5}), F({2, 4, 1, 5}), I({0, 3})}, {}, 1, 24},
      {"Compress", {F({3, 2}), MakeBool({3}, {1, 0, 1})}, Int("axis", 0), 1, 20, true},
      {"Compress", {F({3, 2}), MakeBool({3}, {1, 0, 1})}, {}, 1, 20, true},
  });
}

TEST(InferSoundnessTest, Generating) {
  const Tensor two = Make<int64_t>({1}, {2});
  ExpectSound({
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
      {"EyeLike", {F({2, 3})}, Int("dtype", static_cast<int64_t>(DataType::kInt64))},
      {"RandomNormal", {}, List("shape", {2, 3})},
      {"RandomUniformLike", {F({2, 3})}},
      {"Bernoulli", {F({2, 3})}},
      {"Multinomial", {F({2, 3})}, Int("sample_size", 4)},
  });
}

TEST(InferSoundnessTest, Elementwise) {
  ExpectSound({
      {"Add", {F({2, 1, 3}), F({4, 1})}},
      {"Add", {I({2, 3}), I({4})}},
      {"Sub", {I({2, 3}), I({4, 1})}},
      {"Mul", {I({2, 3}), I0(4)}},
      {"Div", {I({9, 8, 0}), I({3, 3, 3})}},
      {"Mod", {I({9, 8}), I({3, 5})}},
      {"Max", {I({9, 3}), I({3, 5})}},
      {"Min", {I({9, 3}), I({3, 5}), I({4})}},
      {"Neg", {I({9, -3})}},
      {"Abs", {I({9, -3})}},
      {"Equal", {I({9, 3, -1}), I({-1, 3, -1})}},
      {"Less", {I({9, 3, -1}), I({10, 3, 0})}},
      {"LessOrEqual", {I({9, 3, -1}), I({10, 3, -2})}},
      {"Greater", {I({9, 3, -1}), I({10, 3, -2})}},
      {"GreaterOrEqual", {I({9, 3, -1}), I({10, 3, -2})}},
      {"And", {MakeBool({2}, {1, 0}), MakeBool({2}, {1, 1})}},
      {"Or", {MakeBool({2}, {1, 0}), MakeBool({2}, {0, 0})}},
      {"Xor", {MakeBool({2}, {1, 0}), MakeBool({2}, {1, 1})}},
      {"Not", {MakeBool({2}, {1, 0})}},
      {"Where", {MakeBool({2}, {1, 0}), I({4, 5}), I({6})}},
      {"Cast", {I({4, 0, -5})}, Int("to", static_cast<int64_t>(DataType::kInt32))},
      {"Cast", {I({4, 0, -5})}, Int("to", static_cast<int64_t>(DataType::kBool))},
      {"Cast", {MakeBool({2}, {1, 0})}, Int("to", static_cast<int64_t>(DataType::kInt64))},
      {"Cast", {I({4, 0, -5})}, Int("to", static_cast<int64_t>(DataType::kFloat))},
      {"Clip", {F({3}), F({}), F({})}},
      {"Identity", {I({4, 5})}},
      {"Dropout", {F({3})}, {}, 2},
      {"Exp", {F({2, 3})}},
      {"Gelu", {F({2, 3})}},
      {"Pow", {F({2, 3}), F({1})}},
  });
}

}  // namespace
}  // namespace attnrun::testing
