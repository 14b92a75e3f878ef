// SPDX-License-Identifier: Apache-2.0
#include "attnrun/state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "attnrun/session.h"
#include "models/archived_models.h"
#include "models/decoder_inputs.h"

// A decoder that reads a text in steps computes the bits of one that reads it at once.
namespace attnrun::testing {
namespace {

constexpr int64_t kPositions = 13;

// Reads positions [begin, end) in steps of `step`, and returns the bytes of the logits.
std::string Read(const Session& session, State& state, int64_t begin, int64_t end, int64_t step) {
  std::string bytes;
  for (int64_t at = begin; at < end; at += step) {
    const int64_t next = std::min(end, at + step);
    const auto outputs = session.Run(InputsFor(session, at, next), state);
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    if (!outputs.ok()) return bytes;
    EXPECT_EQ(outputs->size(), 1u);
    EXPECT_EQ(state.length(), next);
    bytes += BytesOf(outputs->begin()->second);
  }
  return bytes;
}

class StateTest : public ::testing::TestWithParam<const char*> {
 protected:
  static Session Load() {
    auto session = Session::Load(InModels(GetParam()));
    EXPECT_TRUE(session.ok()) << session.status();
    return *std::move(session);
  }
};

TEST_P(StateTest, StepsDoNotChangeBits) {
  const Session session = Load();
  State whole = *session.NewState();
  const std::string expected = Read(session, whole, 0, kPositions, kPositions);
  for (const int64_t capacity : {0, 5, 64}) {
    for (const int64_t step : {1, 3, 5}) {
      State state = *session.NewState({.batch = 1, .capacity = capacity});
      EXPECT_EQ(Read(session, state, 0, kPositions, step), expected)
          << "capacity " << capacity << ", step " << step;
    }
  }
}

TEST_P(StateTest, GrowsInPlace) {
  const Session session = Load();
  State state = *session.NewState({.batch = 1, .capacity = 64});
  Read(session, state, 0, 4, 4);
  const std::string input = session.state_values().front().input;
  const void* memory = state.value(input).raw();
  const size_t bytes = state.byte_size();
  Read(session, state, 4, kPositions, 1);
  EXPECT_EQ(state.value(input).raw(), memory);
  EXPECT_EQ(state.byte_size(), bytes);
}

TEST_P(StateTest, RewindsAndClones) {
  const Session session = Load();
  State state = *session.NewState({.batch = 1, .capacity = 64});
  Read(session, state, 0, 6, 6);
  State clone = *state.Clone();
  State row = *state.Select({0});
  const std::string expected = Read(session, state, 6, kPositions, 1);
  State first = *state.Clone(6, kPositions);
  EXPECT_EQ(first.length(), 6);
  EXPECT_EQ(state.Clone(kPositions + 1, 64).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(state.Clone(6, -1).status().code(), absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(state.Rewind(6).ok());
  EXPECT_EQ(Read(session, state, 6, kPositions, 7), expected);
  EXPECT_EQ(Read(session, first, 6, kPositions, 7), expected);
  EXPECT_EQ(Read(session, clone, 6, kPositions, 2), expected);
  EXPECT_EQ(Read(session, row, 6, kPositions, 1), expected);
}

TEST_P(StateTest, AFailedRunChangesNothing) {
  const Session session = Load();
  State state = *session.NewState({.batch = 1, .capacity = 64});
  Read(session, state, 0, 6, 6);
  const std::string expected = Read(session, state, 6, kPositions, 1);
  ASSERT_TRUE(state.Rewind(6).ok());
  RunOptions little_memory;
  little_memory.memory_limit = 1 << 10;
  EXPECT_EQ(session.Run(InputsFor(session, 6, 13), state, little_memory).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(state.length(), 6);
  EXPECT_EQ(Read(session, state, 6, kPositions, 1), expected);
}

// The floating-point operations of the products of one run.
int64_t FlopsOfLinears(const std::vector<ProfileEvent>& events) {
  int64_t flops = 0;
  for (const ProfileEvent& event : events) {
    if (event.op_type == "attnrun.Linear") flops += event.flops;
  }
  return flops;
}

TEST_P(StateTest, LastPositionsAreThoseOfAll) {
  const Session session = Load();
  SessionOptions options;
  options.last_positions_of = {"logits"};
  const auto cut = Session::Load(InModels(GetParam()), options);
  ASSERT_TRUE(cut.ok()) << cut.status();
  State state = *session.NewState();
  const std::string all = Read(session, state, 0, kPositions, kPositions);
  const size_t row = all.size() / kPositions;
  std::vector<int64_t> flops;
  for (const int64_t count : {1, 3, 0, 50}) {
    TensorMap inputs = InputsFor(*cut, 0, kPositions);
    if (count != 1) inputs[kLastPositions] = *Tensor::Of<int64_t>({1}, {count});
    State own = *cut->NewState();
    std::vector<ProfileEvent> events;
    RunOptions profiled;
    profiled.profile = &events;
    const auto outputs = cut->Run(inputs, own, profiled);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    const int64_t kept = count == 0 || count > kPositions ? kPositions : count;
    const Tensor& logits = outputs->at("logits");
    EXPECT_EQ(logits.dim(1), kept);
    EXPECT_EQ(BytesOf(logits), all.substr(all.size() - kept * row)) << count;
    flops.push_back(FlopsOfLinears(events));
  }
  TensorMap inputs = InputsFor(*cut, 0, kPositions);
  inputs[kLastPositions] = *Tensor::Of<int64_t>({1}, {-1});
  State own = *cut->NewState();
  EXPECT_EQ(cut->Run(inputs, own).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_LT(flops[0], flops[1]);
  EXPECT_LT(flops[1], flops[2]);
  EXPECT_LT(4 * flops[0], 3 * flops[2]);
}

TEST(StateOptionsTest, UnknownOutputsCannotBeCut) {
  SessionOptions options;
  options.last_positions_of = {"nothing"};
  const auto session = Session::Load(InModels("llama-past/sdpa-ts.onnx"), options);
  EXPECT_EQ(session.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(session.status().message()),
              ::testing::HasSubstr("the model has no output 'nothing'"));
}

INSTANTIATE_TEST_SUITE_P(Decoders, StateTest, ::testing::ValuesIn(kDecoders),
                         [](const auto& info) { return LettersOf(info.param); });

}  // namespace
}  // namespace attnrun::testing
