// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>

#include "support/graph_parts.h"
#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

constexpr double kTolerance = 8 * kEpsilon;

Value* Table(GraphBuilder& b, int64_t rows) {
  std::vector<float> numbers(rows * 2);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = 0.5F * static_cast<float>(i * i % 7);
  return b.Constant("table", *Tensor::Of<float>({rows, 2}, numbers));
}
Value* Ids(GraphBuilder& b, const char* name) {
  return b.Input(name, DataType::kInt64, {"batch", "seq"});
}
Value* Rows(GraphBuilder& b, int64_t rows, Value* ids) {
  return b.Op("Gather", {Table(b, rows), ids});
}
Value* Positions(GraphBuilder& b, Value* ids) {
  Value* extent = b.Op("Shape", {ids}, {{"start", int64_t{1}}, {"end", int64_t{2}}});
  return b.Op("Slice", {Table(b, 9), Vector(b, {0}), extent, Vector(b, {0})});
}

TEST(EmbeddingSumFusionTest, FusesAnyOrderOfTheTerms) {
  for (const bool positions_first : {false, true}) {
    OptimizerTester test([&](GraphBuilder& b) {
      Value* ids = Ids(b, "ids");
      Value* words = Rows(b, 5, ids);
      Value* types = Rows(b, 2, Ids(b, "types"));
      Value* positions = Positions(b, ids);
      b.Output(
          b.Op("Relu", {positions_first ? b.Op("Add", {types, b.Op("Add", {positions, words})})
                                        : b.Op("Add", {b.Op("Add", {words, types}), positions})}));
    });
    EXPECT_EQ(test.Ops(), "Relu attnrun.EmbeddingSum");
    for (const int64_t seq : {1, 3, 9}) test.Dim("seq", seq).ExpectSameResults(kTolerance);
  }
}

TEST(EmbeddingSumFusionTest, FusesWordsAndPositions) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* ids = Ids(b, "ids");
    b.Output(b.Op("Add", {Positions(b, ids), Rows(b, 5, ids)}));
  });
  EXPECT_EQ(test.Ops(), "attnrun.EmbeddingSum");
  test.ExpectSameResults(kTolerance);
}

TEST(EmbeddingSumFusionTest, OtherSumsStay) {
  const std::vector<std::function<void(GraphBuilder&)>> others = {
      // Another value is added.
      [](GraphBuilder& b) {
        Value* x = b.Input("x", DataType::kFloat, {"batch", "seq", 2});
        b.Output(b.Op("Add", {Rows(b, 5, Ids(b, "ids")), x}));
      },
      // One of the terms has another reader.
      [](GraphBuilder& b) {
        Value* words = Rows(b, 5, Ids(b, "ids"));
        b.Output(b.Op("Add", {words, Rows(b, 2, Ids(b, "types"))})).Output(words);
      },
      // Ids of another shape, which broadcast.
      [](GraphBuilder& b) {
        Value* types = b.Input("types", DataType::kInt64, {1, "seq"});
        b.Output(b.Op("Add", {Rows(b, 5, Ids(b, "ids")), Rows(b, 2, types)}));
      },
      // A table that the caller passes.
      [](GraphBuilder& b) {
        Value* table = b.Input("table", DataType::kFloat, {2, 2});
        Value* types = b.Op("Gather", {table, Ids(b, "types")});
        b.Output(b.Op("Add", {Rows(b, 5, Ids(b, "ids")), types}));
      }};
  for (size_t i = 0; i < others.size(); ++i) {
    SCOPED_TRACE(i);
    OptimizerTester test(others[i]);
    EXPECT_EQ(test.Count("attnrun.EmbeddingSum"), 0);
    test.ExpectSameResults(kTolerance);
  }
}

}  // namespace
}  // namespace attnrun::testing
