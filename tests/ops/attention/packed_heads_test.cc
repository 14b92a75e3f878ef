// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::HasSubstr;

std::vector<int64_t> Offsets(std::vector<int64_t> offsets) { return offsets; }

OpTester Rotation(std::vector<int64_t> offsets, int64_t size, int64_t rotated,
                  int64_t interleaved) {
  OpTester op("RotaryEmbedding", 1, "attnrun");
  op.Attribute("head_size", size).Attribute("head_offsets", Offsets(std::move(offsets)));
  op.Attribute("rotary_embedding_dim", rotated).Attribute("interleaved", interleaved);
  return op;
}

OpTester Norm(std::vector<int64_t> offsets, int64_t size) {
  OpTester op("HeadRmsNormalization", 1, "attnrun");
  op.Attribute("head_size", size).Attribute("head_offsets", Offsets(std::move(offsets)));
  op.Attribute("epsilon", 1e-6F);
  return op;
}

TEST(PackedHeadsTest, RotatesSomeColumns) {
  OpTester op = Rotation({1, 4}, 2, 0, 0);
  op.Input(Make<float>({1, 1, 7}, {9, 1, 2, 8, 3, 4, 7}));
  op.Input(Make<float>({1, 1, 1}, {0})).Input(Make<float>({1, 1, 1}, {1}));
  const Tensor expected = Make<float>({1, 1, 7}, {9, -2, 1, 8, -4, 3, 7});
  ExpectClose(op.Reference().value()[0], expected, 0);
  ExpectClose(op.Kernel().value()[0], expected, 0);
}

TEST(PackedHeadsTest, KernelsAgreeWithReference) {
  std::mt19937 generator(Seed());
  for (const DataType type : {DataType::kFloat, DataType::kFloat16, DataType::kBfloat16}) {
    for (const bool in_place : {false, true}) {
      const Tensor x = Converted(RandomFloats({2, 5, 3 * 24 + 7}, generator), type);
      const double tolerance = type == DataType::kFloat ? 50 * kEpsilon : 4 * Epsilon(type);
      for (const int64_t interleaved : {0, 1}) {
        OpTester op = Rotation({0, 24, 50}, 24, 18, interleaved);
        op.Input(x);
        for (int i = 0; i < 2; ++i) op.Input(Converted(RandomFloats({1, 5, 9}, generator), type));
        if (in_place) op.InPlace();
        ExpectClose(op.Kernel().value()[0], op.Reference().value()[0], tolerance);
      }
      OpTester op = Norm({0, 24, 50}, 24);
      op.Input(x).Input(Converted(RandomFloats({3, 24}, generator), type));
      if (in_place) op.InPlace();
      ExpectClose(op.Kernel().value()[0], op.Reference().value()[0], tolerance);
    }
  }
}

TEST(PackedHeadsTest, NormalizesEachHeadByItself) {
  OpTester op = Norm({0, 3}, 2);
  op.Input(Make<float>({1, 1, 5}, {3, 3, 5, -4, 4}));
  op.Input(Make<float>({2, 2}, {1, 2, 1, 3}));
  const Tensor expected = Make<float>({1, 1, 5}, {1, 2, 5, -1, 3});
  ExpectClose(op.Reference().value()[0], expected, 1e-6);
  ExpectClose(op.Kernel().value()[0], expected, 1e-6);
}

TEST(PackedHeadsTest, AcceptsNoRows) {
  OpTester op = Norm({0}, 2);
  op.Input(Make<float>({0, 3, 4}, {})).Input(Make<float>({1, 2}, {1, 1}));
  EXPECT_EQ(op.Kernel().value()[0].shape(), Shape({0, 3, 4}));
}

TEST(PackedHeadsTest, ErrorsSayWhatIsWrong) {
  const Tensor x = Make<float>({1, 1, 6}, {1, 2, 3, 4, 5, 6});
  struct {
    std::vector<int64_t> offsets;
    int64_t size;
    const char* message;
  } const cases[] = {
      {{0, 1}, 2, "one after the other"},    {{2, 0}, 2, "one after the other"},
      {{5}, 2, "one begins at 5"},           {{-1}, 2, "one begins at -1"},
      {{0}, 0, "heads of 1 column or more"}, {{0}, 2, "expected scale to be float[1,2]"}};
  for (const auto& c : cases) {
    OpTester op = Norm(c.offsets, c.size);
    op.Input(x).Input(Make<float>({1}, {1}));
    EXPECT_THAT(op.Reference().status().message(), HasSubstr(c.message));
    EXPECT_THAT(op.Kernel().status().message(), HasSubstr(c.message));
  }
}

}  // namespace
}  // namespace attnrun::testing
