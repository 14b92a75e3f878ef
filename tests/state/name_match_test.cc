// SPDX-License-Identifier: Apache-2.0
#include "state/name_match.h"

#include <gtest/gtest.h>

namespace attnrun::testing {
namespace {

using state::NamesMatch;

TEST(NameMatchTest, OldAndNewOfOneValue) {
  EXPECT_TRUE(NamesMatch("past_key_values.0.key", "present.0.key"));
  EXPECT_TRUE(NamesMatch("past_key_values.11.decoder.value", "present.11.decoder.value"));
  EXPECT_TRUE(NamesMatch("past_key_values.0.key", "present_key_values.0.key"));
  EXPECT_TRUE(NamesMatch("past_key_self_0", "present_key_self_0"));
  EXPECT_TRUE(NamesMatch("past_conv.3", "present_conv.3"));
  EXPECT_TRUE(NamesMatch("cache_k", "new_cache_k"));
  EXPECT_TRUE(NamesMatch("key_cache.0", "updated_key_cache.0"));
  EXPECT_TRUE(NamesMatch("state", "stateN"));
  EXPECT_TRUE(NamesMatch("h0", "hn"));
}

TEST(NameMatchTest, DifferentValues) {
  EXPECT_FALSE(NamesMatch("past_key_values.0.key", "present.0.value"));
  EXPECT_FALSE(NamesMatch("past_key_values.1.key", "present.11.key"));
  EXPECT_FALSE(NamesMatch("past_key_values.0.decoder.key", "present.0.encoder.key"));
  EXPECT_FALSE(NamesMatch("input", "output"));
  EXPECT_FALSE(NamesMatch("input_ids", "logits"));
  EXPECT_FALSE(NamesMatch("h0", "cn"));
}

}  // namespace
}  // namespace attnrun::testing
