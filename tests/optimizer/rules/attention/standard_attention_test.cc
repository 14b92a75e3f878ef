// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "support/attention_graph.h"

namespace attnrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Spelling {
  int64_t kv_heads = 2;
  bool past = true;
  bool causal = false;
  // True if K has as many positions as Q.
  bool same_positions = true;
};

// Attention with two heads of 4 channels in a row (3 for V). The present keys and values are
// outputs, too.
OptimizerTester Standard(const Spelling& spelling) {
  const auto build = [&](GraphBuilder& b) {
    const int64_t heads = spelling.kv_heads;
    const char* keys = spelling.same_positions ? "seq" : "keys";
    std::vector<Value*> inputs = {b.Input("q", DataType::kFloat, {"batch", "seq", 8}),
                                  b.Input("k", DataType::kFloat, {"batch", keys, heads * 4}),
                                  b.Input("v", DataType::kFloat, {"batch", keys, heads * 3})};
    if (spelling.past) {
      Value* past_key = b.Input("past_k", DataType::kFloat, {"batch", heads, "past", 4});
      Value* past_value = b.Input("past_v", DataType::kFloat, {"batch", heads, "past", 3});
      inputs.insert(inputs.end(), {nullptr, past_key, past_value});
    }
    const AttributeMap attributes = {{"q_num_heads", int64_t{2}},
                                     {"kv_num_heads", heads},
                                     {"is_causal", int64_t{spelling.causal ? 1 : 0}}};
    for (Value* output : b.Ops("Attention", 3, inputs, attributes)) b.Output(output);
  };
  return OptimizerTester(build, {}, 23);
}

TEST(StandardAttentionTest, HeadsInARowMayHaveAPast) {
  for (const Spelling& spelling :
       {Spelling{}, Spelling{.kv_heads = 1}, Spelling{.past = false}, Spelling{.causal = true},
        Spelling{.kv_heads = 1, .past = false, .causal = true},
        Spelling{.same_positions = false}}) {
    SCOPED_TRACE(::testing::Message() << spelling.kv_heads << spelling.past << spelling.causal);
    OptimizerTester test = Standard(spelling);
    EXPECT_EQ(test.Count("attnrun.Attention"), 1);
    EXPECT_EQ(test.Count("Attention"), 0);
    test.ExpectSameResults(kAttentionTolerance);
    test.Dim("batch", 2).Dim("seq", 1).Dim("past", 5).ExpectSameResults(kAttentionTolerance);
    test.Dim("seq", 6).Dim("past", 0).ExpectSameResults(kAttentionTolerance);
  }
}

TEST(StandardAttentionTest, CausalWithOtherNumbersOfKeysStays) {
  const OptimizerTester test = Standard({.causal = true, .same_positions = false});
  EXPECT_EQ(test.Count("Attention"), 1);
  EXPECT_THAT(test.Misses("standard_attention"), ElementsAre(HasSubstr("other queries")));
}

TEST(StandardAttentionTest, HalfOfAPastStays) {
  for (const size_t left_out : {4, 5}) {
    const OptimizerTester test(
        [&](GraphBuilder& b) {
          const auto heads = [&](const char* name, const char* extent) {
            return b.Input(name, DataType::kFloat, {"batch", 2, extent, 4});
          };
          std::vector<Value*> inputs = {heads("q", "seq"),       heads("k", "seq"),
                                        heads("v", "seq"),       nullptr,
                                        heads("past_k", "past"), heads("past_v", "past")};
          inputs[left_out] = nullptr;
          b.Output(b.Op("Attention", inputs));
        },
        {}, 23);
    EXPECT_EQ(test.Count("Attention"), 1);
    EXPECT_THAT(test.Misses("standard_attention"), ElementsAre(HasSubstr("half of a past")));
  }
}

// Attention of version 24 or later over keys [batch, 2, keys, 4] whose mask is made by `mask`.
using MakeMask = std::function<Value*(GraphBuilder&)>;
OptimizerTester Masked(const MakeMask& mask, const AttributeMap& attributes = {},
                       bool counted = false, int opset = 24) {
  const auto build = [=](GraphBuilder& b) {
    const auto heads = [&](const char* name, const char* extent) {
      return b.Input(name, DataType::kFloat, {"batch", 2, extent, 4});
    };
    std::vector<Value*> inputs = {heads("q", "seq"), heads("k", "keys"), heads("v", "keys"),
                                  mask ? mask(b) : nullptr};
    if (counted) {
      inputs.insert(inputs.end(),
                    {nullptr, nullptr, b.Input("count", DataType::kInt64, {"batch"})});
    }
    b.Output(b.Op("Attention", inputs, attributes));
  };
  return OptimizerTester(build, {}, opset);
}

MakeMask Mask(DataType type, int rank, const char* columns = "columns") {
  return [=](GraphBuilder& b) {
    if (rank == 1) return b.Input("mask", type, {columns});
    if (rank == 2) return b.Input("mask", type, {"seq", columns});
    if (rank == 3) return b.Input("mask", type, {2, 1, columns});
    return b.Input("mask", type, {"batch", 1, "seq", columns});
  };
}

void ExpectFused(OptimizerTester& test) {
  EXPECT_EQ(test.Count("attnrun.Attention"), 1) << test.Ops();
  EXPECT_EQ(test.Count("Attention"), 0);
  EXPECT_THAT(test.Misses("standard_attention"), IsEmpty());
}

TEST(StandardAttentionTest, MasksMayHaveFewerKeys) {
  for (const DataType type : {DataType::kBool, DataType::kFloat, DataType::kInt64}) {
    for (const int rank : {1, 2, 3, 4}) {
      OptimizerTester test = Masked(Mask(type, rank));
      SCOPED_TRACE(test.Ops());
      ExpectFused(test);
      test.Dim("batch", 2).Dim("seq", 3).Dim("keys", 7).Dim("columns", 5);
      test.ExpectSameResults(kAttentionTolerance);
      // From version 24 on a single column does not broadcast.
      test.Dim("columns", 1).ExpectSameResults(kAttentionTolerance);
      test.Dim("columns", 7).ExpectSameResults(kAttentionTolerance);
    }
  }
}

TEST(StandardAttentionTest, MasksWithAllKeysAreNotPadded) {
  for (const DataType type : {DataType::kBool, DataType::kFloat16, DataType::kInt64}) {
    OptimizerTester test = Masked(Mask(type, 4, "keys"));
    ExpectFused(test);
    EXPECT_EQ(test.Count("Pad"), 0);
    test.Dim("seq", 2).Dim("keys", 5).ExpectSameResults(kAttentionTolerance);
  }
  // Before version 24 masks are not padded, and a single column broadcasts.
  OptimizerTester old = Masked(Mask(DataType::kBool, 4), {}, false, 23);
  ExpectFused(old);
  EXPECT_EQ(old.Count("Pad"), 0);
  old.Dim("keys", 5).Dim("columns", 1).ExpectSameResults(kAttentionTolerance);
}

TEST(StandardAttentionTest, MasksArePaddedBeforeTheyAreBroadcast) {
  OptimizerTester test = Masked([](GraphBuilder& b) {
    Value* mask = b.Op("Unsqueeze",
                       {b.Input("mask", DataType::kBool, {"batch", "columns"}), Vector(b, {1, 2})});
    Value* queries = b.Op("Shape", {b.Input("x", DataType::kFloat, {"seq"})});
    Value* shape =
        b.Op("Concat", {Vector(b, {1, 1}), queries, Vector(b, {1})}, {{"axis", int64_t{0}}});
    return b.Op("Expand", {mask, shape});
  });
  ExpectFused(test);
  EXPECT_EQ(test.Count("Expand"), 0) << test.Ops();
  test.Dim("batch", 2).Dim("seq", 3).Dim("keys", 7).Dim("columns", 5);
  test.ExpectSameResults(kAttentionTolerance);
}

TEST(StandardAttentionTest, CountsOfKeysBecomeMasks) {
  const MakeMask none;
  for (const MakeMask& mask : {none, Mask(DataType::kBool, 2)}) {
    for (const AttributeMap& attributes :
         {AttributeMap{}, AttributeMap{{"is_causal", int64_t{1}}},
          AttributeMap{{"left_window_size", int64_t{1}}},
          AttributeMap{{"left_window_size", INT64_MAX}, {"right_window_size", int64_t{0}}}}) {
      OptimizerTester test = Masked(mask, attributes, true, 25);
      ExpectFused(test);
      test.Dim("batch", 3).Dim("seq", 4).Dim("keys", 7).Dim("columns", 6);
      // With fewer keys than queries the first queries see none.
      test.Feed("count", *Tensor::Of<int64_t>({3}, {6, 2, 4}));
      test.ExpectSameResults(kAttentionTolerance);
      test.Dim("seq", 1).ExpectSameResults(kAttentionTolerance);
    }
  }
}

TEST(StandardAttentionTest, MasksArePaddedBehindViewsOfAnExpand) {
  OptimizerTester test = Masked([](GraphBuilder& b) {
    Value* mask =
        b.Op("Unsqueeze", {b.Input("mask", DataType::kBool, {"batch", "columns"}), Vector(b, {1})});
    Value* queries = b.Op("Shape", {b.Input("x", DataType::kFloat, {"seq"})});
    Value* shape =
        b.Op("Concat", {Vector(b, {1}), queries, Vector(b, {1})}, {{"axis", int64_t{0}}});
    return b.Op("Unsqueeze", {b.Op("Expand", {mask, shape}), Vector(b, {1})});
  });
  ExpectFused(test);
  EXPECT_EQ(test.Count("Expand"), 0) << test.Ops();
  test.Dim("batch", 2).Dim("seq", 3).Dim("keys", 7).Dim("columns", 5);
  test.ExpectSameResults(kAttentionTolerance);
}

TEST(StandardAttentionTest, NumbersOfHeadsNeedNotBeKnown) {
  const auto test_with = [](const AttributeMap& attributes) {
    return OptimizerTester(
        [&](GraphBuilder& b) {
          const auto heads = [&](const char* name, const char* count, const char* extent,
                                 int64_t size) {
            return b.Input(name, DataType::kFloat, {"batch", count, extent, size});
          };
          b.Output(b.Op("Attention",
                        {heads("q", "heads", "seq", 4), heads("k", "kv", "keys", 4),
                         b.Input("v", DataType::kFloat, {"batch", "kv", "keys", "size"})},
                        attributes));
        },
        {}, 24);
  };
  OptimizerTester test = test_with({{"scale", 0.5F}});
  ExpectFused(test);
  test.Dim("heads", 4).Dim("kv", 2).Dim("seq", 3).Dim("size", 5);
  test.ExpectSameResults(kAttentionTolerance);
}

TEST(StandardAttentionTest, UnknownSizesOfHeadsStayWithoutAScale) {
  const OptimizerTester test(
      [](GraphBuilder& b) {
        const auto heads = [&](const char* name) {
          return b.Input(name, DataType::kFloat, {"batch", "heads", "seq", "size"});
        };
        b.Output(b.Op("Attention", {heads("q"), heads("k"), heads("v")}));
      },
      {}, 24);
  EXPECT_EQ(test.Count("Attention"), 1);
  EXPECT_THAT(test.Misses("standard_attention"), ElementsAre(HasSubstr("size of its heads")));
}

}  // namespace
}  // namespace attnrun::testing
