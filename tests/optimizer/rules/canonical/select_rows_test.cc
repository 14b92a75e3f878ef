// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "support/optimizer_tester.h"

namespace attnrun::testing {
namespace {

struct Rows {
  GraphBuilder& b;
  Value* x = b.Input("x", DataType::kFloat, {"batch", "seq", 4});
  Value* ids = b.Input("ids", DataType::kInt64, {"batch", "seq"});

  Value* Int(int64_t number) { return b.Constant<int64_t>("n", {}, {number}); }
  Value* Extent(int64_t axis) {
    Value* extent = b.Op("Shape", {x}, {{"start", axis}, {"end", axis + 1}});
    return b.Op("Squeeze", {extent, b.Constant<int64_t>("axes", {1}, {0})});
  }
  Value* Samples() { return b.Op("Range", {Int(0), Extent(0), Int(1)}); }
  Value* Last() { return b.Op("ArgMax", {ids}, {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}}); }
  Value* ByTuples(Value* samples, Value* rows) {
    Value* axes = b.Constant<int64_t>("axes", {1}, {1});
    std::vector<Value*> columns = {b.Op("Unsqueeze", {samples, axes}),
                                   b.Op("Unsqueeze", {rows, axes})};
    return b.Op("GatherND", {x, b.Op("Concat", columns, {{"axis", int64_t{1}}})});
  }
  Value* Flat(Value* rows) {
    Value* at = b.Op("Add", {rows, b.Op("Mul", {Samples(), Extent(1)})});
    return b.Op("Gather", {b.Op("Flatten", {x}, {{"axis", int64_t{2}}}), at});
  }
};

TEST(SelectRowsTest, BothSpellingsBecomeOne) {
  for (const bool flat : {false, true}) {
    OptimizerTester test([&](GraphBuilder& b) {
      Rows r{b};
      b.Output(flat ? r.Flat(r.Last()) : r.ByTuples(r.Samples(), r.Last()));
    });
    EXPECT_EQ(test.Ops(), "ArgMax GatherND Unsqueeze") << flat;
    for (const int64_t seq : {1, 5}) test.Dim("seq", seq).ExpectSameResults(0);
  }
}

// In the flat list a negative index counts from the end of all samples together.
TEST(SelectRowsTest, GivenRowsStayFlat) {
  OptimizerTester test([](GraphBuilder& b) {
    Rows r{b};
    b.Output(r.Flat(b.Input("rows", DataType::kInt64, {"batch"})));
  });
  EXPECT_EQ(test.Count("GatherND"), 0);
  test.ExpectSameResults(0);
}

TEST(SelectRowsTest, SamplesInAnotherOrderStay) {
  OptimizerTester test([](GraphBuilder& b) {
    Rows r{b};
    b.Output(r.ByTuples(b.Input("samples", DataType::kInt64, {"batch"}), r.Last()));
  });
  EXPECT_EQ(test.Count("Concat"), 1);
  test.ExpectSameResults(0);
}

TEST(SelectRowsTest, RowsFromAListAreGathered) {
  const auto rows = [](int64_t axis) {
    return OptimizerTester([=](GraphBuilder& b) {
      Value* x = b.Input("x", DataType::kFloat, {2, 2, 4});
      Value* list = b.Input("list", DataType::kInt64, {"batch", 2});
      Value* tuples = b.Op("Unsqueeze", {list, b.Constant<int64_t>("axis", {1}, {axis})});
      b.Output(b.Op("Neg", {b.Op("GatherND", {x, tuples})}));
    });
  };
  EXPECT_EQ(rows(-1).Ops(), "Gather Neg");
  EXPECT_EQ(rows(2).Ops(), "Gather Neg");
  rows(-1).Feed("list", Make<int64_t>({3, 2}, {0, 1, -1, -2, 1, 1})).ExpectSameResults(0);
  // Each tuple has two indices.
  EXPECT_EQ(rows(1).Count("GatherND"), 1);
}

TEST(SelectRowsTest, RowsFromTuplesOfOneAreGathered) {
  OptimizerTester test([](GraphBuilder& b) {
    Value* x = b.Input("x", DataType::kFloat, {2, 2, 4});
    Value* tuples = b.Input("tuples", DataType::kInt64, {"batch", 2, 1});
    b.Output(b.Op("Neg", {b.Op("GatherND", {x, tuples})}));
  });
  EXPECT_EQ(test.Ops(), "Gather Neg Squeeze");
  test.Feed("tuples", Make<int64_t>({3, 2, 1}, {0, 1, -1, -2, 1, 1})).ExpectSameResults(0);
}

}  // namespace
}  // namespace attnrun::testing
