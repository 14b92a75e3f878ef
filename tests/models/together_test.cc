// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "attnrun/session.h"
#include "models/archived_models.h"
#include "models/decoder_inputs.h"

// Requests that run together get the bits of separate runs.
namespace attnrun::testing {
namespace {

Session Load(const std::string& file, int threads = 0) {
  SessionOptions options;
  options.threads = threads;
  auto session = Session::Load(InModels(file), options);
  EXPECT_TRUE(session.ok()) << session.status();
  return *std::move(session);
}

void ExpectEqual(const TensorMap& found, const TensorMap& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [name, tensor] : expected) {
    EXPECT_EQ(found.at(name).shape(), tensor.shape()) << name;
    EXPECT_EQ(BytesOf(found.at(name)), BytesOf(tensor)) << name;
  }
}

// The number of nodes that a run executes with this operator.
int64_t CountOf(const std::vector<ProfileEvent>& events, absl::string_view op_type) {
  return std::count_if(events.begin(), events.end(),
                       [&](const ProfileEvent& event) { return event.op_type == op_type; });
}

class DecodersTogether : public ::testing::TestWithParam<const char*> {};

// Requests that read texts of their own in random pieces. They are so many that each has a thread
// of its own where positions see each other, unless one has much longer a piece than the others.
TEST_P(DecodersTogether, GiveTheBitsOfSeparateRuns) {
  constexpr int kRequests = 8;
  const Session session = Load(GetParam());
  const Session one_thread = Load(GetParam(), 1);
  std::mt19937 random(7);
  std::vector<State> together;
  std::vector<State> alone;
  for (int r = 0; r < kRequests; ++r) {
    together.push_back(*session.NewState({.batch = 1, .capacity = 8}));
    alone.push_back(*one_thread.NewState());
  }
  for (int round = 0; round < 6; ++round) {
    std::vector<Request> requests;
    for (int r = 0; r < kRequests; ++r) {
      const int64_t length = together[r].length();
      const auto step = static_cast<int64_t>(round % 2 == 0 ? 1 + random() % 4 : 1);
      requests.push_back({InputsFor(session, length, length + step), &together[r]});
    }
    const auto results = session.RunTogether(requests);
    ASSERT_TRUE(results.ok()) << results.status();
    for (int r = 0; r < kRequests; ++r) {
      const auto expected = one_thread.Run(requests[r].inputs, alone[r]);
      ASSERT_TRUE(expected.ok()) << expected.status();
      ExpectEqual((*results)[r], *expected);
      EXPECT_EQ(together[r].length(), alone[r].length());
    }
  }
}

TEST_P(DecodersTogether, ReadWeightsOnce) {
  const Session session = Load(GetParam());
  State state = *session.NewState();
  std::vector<ProfileEvent> events;
  RunOptions options;
  options.profile = &events;
  ASSERT_TRUE(session.Run(InputsFor(session, 0, 3), state, options).ok());
  const int64_t products = CountOf(events, "attnrun.Linear");
  const int64_t attentions = CountOf(events, "attnrun.Attention");
  EXPECT_GT(products, 0);

  State first = *session.NewState();
  State second = *session.NewState();
  events.clear();
  const std::vector<Request> requests = {{InputsFor(session, 0, 3), &first},
                                         {InputsFor(session, 0, 7), &second}};
  ASSERT_TRUE(session.RunTogether(requests, options).ok());
  EXPECT_EQ(CountOf(events, "attnrun.Linear"), products);
  EXPECT_EQ(CountOf(events, "attnrun.Attention"), 2 * attentions);
}

TEST_P(DecodersTogether, AnErrorChangesNoState) {
  const Session session = Load(GetParam());
  State first = *session.NewState({.batch = 1, .capacity = 32});
  State second = *session.NewState({.batch = 1, .capacity = 32});
  ASSERT_TRUE(session.Run(InputsFor(session, 0, 5), first).ok());
  State copy = *first.Clone();
  TensorMap wrong = InputsFor(session, 0, 3);
  wrong["input_ids"] = *Tensor::Of<int64_t>({1, 3}, {1, 2, 1 << 20});
  EXPECT_FALSE(session.RunTogether({{InputsFor(session, 5, 6), &first}, {wrong, &second}}).ok());
  EXPECT_EQ(first.length(), 5);
  EXPECT_EQ(second.length(), 0);
  const auto found = session.Run(InputsFor(session, 5, 8), first);
  const auto expected = session.Run(InputsFor(session, 5, 8), copy);
  ASSERT_TRUE(found.ok() && expected.ok()) << found.status() << expected.status();
  ExpectEqual(*found, *expected);
}

INSTANTIATE_TEST_SUITE_P(Tiny, DecodersTogether, ::testing::ValuesIn(kDecoders),
                         [](const auto& info) { return LettersOf(info.param); });

TEST(TogetherTest, OneStateServesOneRequest) {
  const Session session = Load(kDecoders[0]);
  State state = *session.NewState();
  const TensorMap inputs = InputsFor(session, 0, 2);
  const auto results = session.RunTogether({{inputs, &state}, {inputs, &state}});
  EXPECT_EQ(results.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(session.Run(inputs, state).ok());
}

TEST(TogetherTest, NoRequestsGiveNoResults) {
  const auto results = Load(kDecoders[0]).RunTogether({});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_TRUE(results->empty());
}

// Every model of the archive, on all of its stored inputs at once.
class CasesTogether : public ::testing::TestWithParam<Export> {};

TEST_P(CasesTogether, GiveTheBitsOfSeparateRuns) {
  const Session session = Load(GetParam().file);
  std::vector<Request> requests;
  for (const Case& one : GetParam().cases) requests.push_back({ReadNpz(one.inputs), nullptr});
  const auto results = session.RunTogether(requests);
  ASSERT_TRUE(results.ok()) << results.status();
  for (size_t r = 0; r < requests.size(); ++r) {
    const auto expected = session.Run(requests[r].inputs);
    ASSERT_TRUE(expected.ok()) << expected.status();
    ExpectEqual((*results)[r], *expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Archive, CasesTogether, ::testing::ValuesIn(ReadManifest()), TestName);

}  // namespace
}  // namespace attnrun::testing
