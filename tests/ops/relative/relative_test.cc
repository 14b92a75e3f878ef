// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::HasSubstr;

OpTester Positions() { return OpTester("RelativePositions", 1, "attnrun"); }
OpTester Absolute() { return OpTester("RelativeToAbsolute", 1, "attnrun"); }
OpTester Scores(std::vector<float> scales, std::vector<int64_t> transposed) {
  OpTester op("RelativeScores", 1, "attnrun");
  op.Attribute("scales", std::move(scales)).Attribute("transposed", std::move(transposed));
  return op;
}

Tensor Arange(const std::vector<int64_t>& shape, int64_t first) {
  Tensor tensor = Tensor::Allocate(DataType::kInt64, shape).value();
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    tensor.mutable_data<int64_t>()[i] = first + i;
  }
  return tensor;
}

TEST(RelativePositionsTest, GivesOneNumberPerDistance) {
  OpTester keys_first = Positions();
  keys_first.Input(Arange({4}, 0)).Input(Arange({3, 1}, 1));
  const Tensor distances = Make<int64_t>({1, 7}, {-3, -3, -2, -1, 0, 1, 2});
  ExpectClose(keys_first.Reference().value()[0], distances, 0);
  ExpectClose(keys_first.Kernel().value()[0], distances, 0);
  OpTester queries_first = Positions();
  queries_first.Input(Converted(Arange({1, 1, 3, 1}, 1), DataType::kInt32));
  queries_first.Input(Converted(Arange({4}, 0), DataType::kInt32));
  const Tensor turned = Make<int32_t>({1, 1, 1, 7}, {3, 3, 2, 1, 0, -1, -2});
  ExpectClose(queries_first.Reference().value()[0], turned, 0);
  ExpectClose(queries_first.Kernel().value()[0], turned, 0);
}

TEST(RelativePositionsTest, AcceptsSeveralSamplesOrNone) {
  OpTester samples = Positions();
  samples.Input(Make<int64_t>({2, 1, 2}, {0, 1, 10, 11})).Input(Arange({1, 1}, 0));
  ExpectClose(samples.Reference().value()[0], Make<int64_t>({2, 1, 3}, {0, 0, 1, 10, 10, 11}), 0);
  for (const int64_t keys : {0, 2}) {
    OpTester none = Positions();
    none.Input(Arange({keys}, 0)).Input(Arange({2 - keys, 1}, 0));
    ExpectClose(none.Reference().value()[0], Make<int64_t>({1, 2}, {0, 0}), 0);
  }
}

TEST(RelativePositionsTest, ErrorsSayWhatIsWrong) {
  OpTester op = Positions();
  op.Input(Arange({3}, 0)).Input(Arange({3}, 0));
  EXPECT_THAT(std::string(op.Reference().status().message()), HasSubstr("rank 2 or more"));
}

TEST(RelativeToAbsoluteTest, ReturnsAViewOfOverlappingRows) {
  OpTester op = Absolute();
  op.Input(Make<float>({2, 1, 5}, {-1, 1, 2, 3, 4, -5, 5, 6, 7, 8})).Input(Arange({2, 1}, 0));
  const Tensor expected = Make<float>({2, 2, 3}, {2, 3, 4, 1, 2, 3, 6, 7, 8, 5, 6, 7});
  ExpectClose(op.Reference().value()[0], expected, 0);
  const Tensor view = op.Kernel().value()[0];
  EXPECT_FALSE(view.is_dense());
  ExpectClose(view.Dense().value(), expected, 0);
}

TEST(RelativeToAbsoluteTest, ErrorsSayWhatIsWrong) {
  OpTester op = Absolute();
  op.Input(Make<float>({1, 2}, {1, 2})).Input(Arange({3, 1}, 0));
  EXPECT_THAT(std::string(op.Kernel().status().message()), HasSubstr("float[1,2]"));
}

TEST(RelativeScoresTest, AddsScoresOfQueriesAndOfKeys) {
  // One head of size 1, so that scores are products of numbers.
  OpTester op = Scores({1, 10}, {0, 1});
  op.Input(Make<float>({1, 2, 1}, {1, 2})).Input(Make<float>({3, 1}, {3, 4, 5}));
  op.Input(Make<int64_t>({2, 2}, {0, 1, 2, -1}));
  op.Input(Make<float>({1, 2, 1}, {6, 7})).Input(Make<float>({3, 1}, {3, 4, 5}));
  op.Input(Make<int64_t>({2, 2}, {0, 1, 1, 0}));
  // Row s, column t: q[s] r[i[s, t]] + 10 k[t] r[i[t, s]].
  const Tensor expected = Make<float>(
      {1, 2, 2}, {1 * 3 + 10 * 6 * 3, 1 * 4 + 10 * 7 * 4, 2 * 5 + 10 * 6 * 4, 2 * 5 + 10 * 7 * 3});
  ExpectClose(op.Reference().value()[0], expected, 0);
  ExpectClose(op.Kernel().value()[0], expected, 0);
}

TEST(RelativeScoresTest, KernelAgreesOnManySizes) {
  std::mt19937 generator(Seed());
  for (const int64_t rows : {0, 1, 7, 100}) {
    for (const int64_t columns : {1, 5, 64}) {
      for (const int64_t positions : {1, 17, 130}) {
        OpTester op = Scores({0.5F, -2}, {0, 1});
        op.Input(RandomFloats({2, 3, rows, 9}, generator));
        op.Input(RandomFloats({3, positions, 9}, generator));
        op.Input(
            RandomInts(DataType::kInt64, {rows, columns}, generator, -positions, positions - 1));
        op.Input(RandomFloats({2, 3, columns, 8}, generator));
        op.Input(RandomFloats({1, positions, 8}, generator));
        op.Input(RandomInts(DataType::kInt32, {3, columns, rows}, generator, 0, positions - 1));
        // Sums of 9 and of 8 products.
        ExpectClose(op.Kernel().value()[0], op.Reference().value()[0], 64 * kEpsilon);
      }
    }
  }
}

TEST(RelativeScoresTest, IndicesMayBeAView) {
  std::mt19937 generator(Seed());
  const Tensor x = RandomFloats({4, 5, 8}, generator);
  const Tensor positions = RandomFloats({4, 12, 8}, generator);
  const Tensor list = RandomInts(DataType::kInt64, {1, 11}, generator, 0, 11);
  OpTester op = Scores({1}, {0});
  op.Input(x).Input(positions).Input(list.View({4, 5, 6}, {0, -1, 1}, 5));
  ExpectClose(op.Kernel().value()[0], op.Reference().value()[0], 16 * kEpsilon);
}

// The kernel multiplies only the positions that some rows need, which begin and end anywhere.
TEST(RelativeScoresTest, NearbyPairsNameSomeOfThePositions) {
  std::mt19937 generator(Seed());
  for (const int64_t first : {-300, -251, 69, 131}) {
    OpTester op = Scores({1, 0.5F}, {0, 1});
    const Tensor distances = Arange({169}, first);
    op.Input(RandomFloats({2, 3, 100, 8}, generator)).Input(RandomFloats({300, 8}, generator));
    op.Input(distances.View({100, 70}, {1, -1}, 69));
    op.Input(RandomFloats({2, 3, 70, 8}, generator)).Input(RandomFloats({300, 8}, generator));
    op.Input(distances.View({70, 100}, {-1, 1}, 69));
    ExpectClose(op.Kernel().value()[0], op.Reference().value()[0], 32 * kEpsilon);
  }
}

TEST(RelativeScoresTest, ErrorsSayWhatIsWrong) {
  std::mt19937 generator(Seed());
  const Tensor x = RandomFloats({3, 2, 4}, generator);
  OpTester outside = Scores({1}, {0});
  outside.Input(x).Input(RandomFloats({5, 4}, generator)).Input(Make<int64_t>({1}, {5}));
  EXPECT_THAT(std::string(outside.Kernel().status().message()), HasSubstr("index 5 is outside"));
  OpTester overlapping = Scores({1}, {0});
  overlapping.Input(x).Input(RandomFloats({5, 4}, generator));
  overlapping.Input(Make<int64_t>({4}, {0, 1, 7, 2}).View({2, 3}, {-1, 1}, 1));
  EXPECT_THAT(std::string(overlapping.Kernel().status().message()),
              HasSubstr("index 7 is outside"));
  OpTester rounds = Scores({1}, {0});
  rounds.Input(x).Input(RandomFloats({2, 5, 4}, generator)).Input(Make<int64_t>({1}, {0}));
  EXPECT_THAT(std::string(rounds.Kernel().status().message()),
              HasSubstr("term 0 has float[3,2,4]"));
  OpTester shapes = Scores({1, 1}, {0, 1});
  for (int i = 0; i < 2; ++i) {
    shapes.Input(x).Input(RandomFloats({5, 4}, generator)).Input(Make<int64_t>({1}, {0}));
  }
  EXPECT_THAT(std::string(shapes.Kernel().status().message()), HasSubstr("[3,2,1] and [3,1,2]"));
}

}  // namespace
}  // namespace attnrun::testing
