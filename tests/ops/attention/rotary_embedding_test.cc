// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/elements.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::HasSubstr;

struct Case {
  std::vector<int64_t> x;
  int64_t heads, rotary, interleaved;
  std::vector<int64_t> cache;
  // Empty if there are no position ids.
  std::vector<int64_t> ids;
  DataType type = DataType::kFloat;
};

TEST(RotaryEmbeddingTest, KernelAgreesWithReference) {
  std::mt19937 generator(Seed());
  const Case cases[] = {
      {{2, 3, 5, 8}, 0, 0, 0, {50, 4}, {2, 5}},
      {{2, 3, 5, 66}, 0, 0, 1, {50, 33}, {2, 5}},
      {{2, 3, 5, 66}, 0, 34, 0, {2, 5, 17}, {}},
      {{2, 5, 3 * 10}, 3, 6, 1, {2, 5, 3}, {}},
      // An extension of the standard: one row of angles for the whole batch.
      {{2, 3, 5, 8}, 0, 0, 0, {1, 5, 4}, {}},
      {{2, 5, 3 * 8}, 3, 0, 1, {50, 4}, {1, 5}},
      {{2, 3, 5, 40}, 0, 20, 0, {50, 10}, {2, 5}, DataType::kFloat16},
      {{2, 5, 3 * 8}, 3, 0, 1, {1, 5, 4}, {}, DataType::kBfloat16},
      {{0, 3, 5, 8}, 0, 0, 0, {50, 4}, {0, 5}},
  };
  for (const Case& c : cases) {
    OpTester op("RotaryEmbedding", 23);
    op.Attribute("num_heads", c.heads).Attribute("rotary_embedding_dim", c.rotary);
    op.Attribute("interleaved", c.interleaved);
    op.Input(Converted(RandomFloats(c.x, generator), c.type));
    op.Input(Converted(RandomFloats(c.cache, generator), c.type));
    op.Input(Converted(RandomFloats(c.cache, generator), c.type));
    if (!c.ids.empty()) op.Input(RandomInts(DataType::kInt64, c.ids, generator, 0, 49));
    // Two roundings of products of numbers of up to five standard deviations.
    const double tolerance = c.type == DataType::kFloat ? 50 * kEpsilon : Epsilon(c.type);
    ExpectClose(op.Kernel().value()[0], op.Reference().value()[0], tolerance);
  }
}

TEST(RotaryEmbeddingTest, PairsAreHalvesOrNeighbors) {
  for (const int64_t interleaved : {0, 1}) {
    OpTester op("RotaryEmbedding", 23);
    op.Attribute("interleaved", interleaved).Attribute("rotary_embedding_dim", int64_t{4});
    op.Input(Make<float>({1, 1, 1, 6}, {1, 2, 3, 4, 5, 6}));
    op.Input(Make<float>({1, 1, 2}, {0, 1})).Input(Make<float>({1, 1, 2}, {1, 0}));
    const Tensor expected = interleaved == 0 ? Make<float>({1, 1, 1, 6}, {-3, 2, 1, 4, 5, 6})
                                             : Make<float>({1, 1, 1, 6}, {-2, 1, 3, 4, 5, 6});
    ExpectClose(op.Reference().value()[0], expected, 0);
    ExpectClose(op.Kernel().value()[0], expected, 0);
  }
}

TEST(RotaryEmbeddingTest, ErrorsSayWhatIsWrong) {
  auto floats = [](const std::vector<int64_t>& shape) {
    std::mt19937 generator(1);
    return RandomFloats(shape, generator);
  };
  const Tensor x = floats({1, 2, 3, 4});
  const Tensor cache = floats({9, 2});
  const Tensor ids = Make<int64_t>({1, 3}, {0, 1, 2});
  struct {
    std::vector<Tensor> inputs;
    int64_t heads, rotary;
    const char* message;
  } const cases[] = {
      {{floats({1, 2}), cache, cache, ids}, 0, 0, "rank 3 or 4"},
      {{floats({1, 3, 8}), cache, cache, ids}, 0, 0, "expected num_heads to divide"},
      {{floats({1, 3, 8}), cache, cache, ids}, 3, 0, "expected num_heads to divide"},
      {{x, cache, cache, ids}, 0, 3, "expected an even rotary size"},
      {{x, cache, cache, ids}, 0, 6, "expected an even rotary size"},
      {{x, cache, cache, ids}, 0, -2, "expected an even rotary size"},
      {{floats({1, 2, 3, 0}), cache, cache, ids}, 0, 0, "expected an even rotary size"},
      {{x, cache, floats({8, 2}), ids}, 0, 0, "of one shape"},
      {{x, floats({9, 3}), floats({9, 3}), ids}, 0, 0, "width 2 with position_ids"},
      {{x, cache, cache}, 0, 0, "rank 3 and width 2 without"},
      {{x, floats({2, 3, 2}), floats({2, 3, 2})}, 0, 0, "does not broadcast"},
      {{x, cache, cache, Make<int64_t>({1, 3}, {0, 1, 9})}, 0, 0, "position id 9 is outside"},
      {{x, cache, cache, Make<int64_t>({1, 3}, {0, 1, -1})}, 0, 0, "position id -1 is outside"},
      {{x, cache, cache, Make<int64_t>({1, 2}, {0, 1})}, 0, 0, "does not broadcast"},
      {{x, cache, cache, Make<int32_t>({1, 3}, {0, 1, 2})}, 0, 0, "to be int64"},
  };
  for (const auto& c : cases) {
    OpTester op("RotaryEmbedding", 23);
    op.Attribute("num_heads", c.heads).Attribute("rotary_embedding_dim", c.rotary);
    for (const Tensor& input : c.inputs) op.Input(input);
    EXPECT_THAT(std::string(op.Reference().status().message()), HasSubstr(c.message));
    EXPECT_FALSE(op.Kernel().ok());
  }
}

}  // namespace
}  // namespace attnrun::testing
