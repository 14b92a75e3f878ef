// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attnrun/session.h"
#include "models/archived_models.h"
#include "models/decoder_inputs.h"
#include "support/failing_malloc.h"

// A decoder that reads one position after the other takes no memory for it.
namespace attnrun::testing {
namespace {

constexpr int64_t kPrompt = 9;
constexpr int64_t kTokens = 24;
// The node of the map in which the caller gets the logits.
constexpr int64_t kMost = 1;

// The allocations of each step behind a prompt and `warm` steps.
std::vector<int64_t> CountPerToken(const Session& session, int64_t warm) {
  State state = *session.NewState({.batch = 1, .capacity = 64});
  EXPECT_TRUE(session.Run(InputsFor(session, 0, kPrompt), state).ok());
  std::vector<int64_t> counts;
  for (int64_t at = kPrompt; at < kPrompt + kTokens; ++at) {
    const TensorMap inputs = InputsFor(session, at, at + 1);
    CountAllocations();
    const auto outputs = session.Run(inputs, state);
    const int64_t count = StopCounting();
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    if (at - kPrompt >= warm) counts.push_back(count);
  }
  return counts;
}

class StateAllocationsTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!CanFailAllocations()) GTEST_SKIP() << "a sanitizer has the allocator";
  }
};

TEST_P(StateAllocationsTest, ATokenTakesFew) {
  for (const int threads : {1, 2}) {
    SessionOptions options;
    options.threads = threads;
    const auto session = Session::Load(InModels(GetParam()), options);
    ASSERT_TRUE(session.ok()) << session.status();
    EXPECT_THAT(CountPerToken(*session, 1), ::testing::Each(::testing::Le(kMost)))
        << threads << " threads";
  }
}

INSTANTIATE_TEST_SUITE_P(Decoders, StateAllocationsTest, ::testing::ValuesIn(kDecoders),
                         [](const auto& info) { return LettersOf(info.param); });

}  // namespace
}  // namespace attnrun::testing
