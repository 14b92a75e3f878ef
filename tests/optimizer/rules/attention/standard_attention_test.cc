// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "support/attention_graph.h"

namespace attnrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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

}  // namespace
}  // namespace attnrun::testing
