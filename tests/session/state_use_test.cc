// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "attnrun/session.h"
#include "session/cache_models.h"

// Bad use of a state gets a sentence; its memory is known in advance; windows can be rewound.
namespace attnrun::testing {
namespace {

using ::testing::HasSubstr;

Session Load(const std::string& bytes) {
  SessionOptions options;
  options.threads = 1;
  auto session = Session::LoadBytes(bytes, options);
  EXPECT_TRUE(session.ok()) << session.status();
  return *std::move(session);
}

TensorMap Step(int64_t at, int64_t count = 1, int64_t batch = 1) {
  TensorMap inputs;
  inputs["x"] = RowsFor({batch, 2, count, kCacheWidth}, at, at + count);
  return inputs;
}

void ExpectError(const absl::Status& status, absl::StatusCode code, const std::string& words) {
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(words));
}

std::string BytesOf(const Tensor& tensor) {
  const Tensor dense = *tensor.Dense();
  return {dense.data<char>(), dense.byte_size()};
}

TEST(StateUseTest, AStateBelongsToOneSession) {
  const std::string model = AppendModel();
  const Session session = Load(model);
  State state = *session.NewState();
  ExpectError(Load(model).Run(Step(0), state).status(), absl::StatusCode::kInvalidArgument,
              "the state belongs to another session");
  EXPECT_TRUE(session.Run(Step(0), state).ok());
}

// The name of a session that ended says nothing.
TEST(StateUseTest, AStateBelongsToNoLaterSession) {
  const std::string model = AppendModel();
  auto session = std::make_unique<Session>(Load(model));
  State state = *session->NewState();
  for (int i = 0; i < 20; ++i) {
    session.reset();
    session = std::make_unique<Session>(Load(model));
    ExpectError(session->Run(Step(0), state).status(), absl::StatusCode::kInvalidArgument,
                "the state belongs to another session");
  }
}

TEST(StateUseTest, AMovedStateIsRefused) {
  const std::string model = AppendModel();
  const Session session = Load(model);
  State state = *session.NewState();
  State other = std::move(state);
  const std::string words = "the state was moved to another one";
  ExpectError(session.Run(Step(0), state).status(), absl::StatusCode::kInvalidArgument, words);
  ExpectError(state.Rewind(0), absl::StatusCode::kInvalidArgument, words);
  ExpectError(state.Clone().status(), absl::StatusCode::kInvalidArgument, words);
  EXPECT_EQ(state.length(), 0);
  EXPECT_EQ(state.byte_size(), 0u);
  EXPECT_FALSE(state.value("past.k").defined());
}

TEST(StateUseTest, OneUseAtATime) {
  const std::string model = AppendModel();
  const Session session = Load(model);
  State state = *session.NewState();
  const auto code = absl::StatusCode::kFailedPrecondition;
  const std::string words = "the state is used by another run";
  const Request request = {Step(0), &state};
  ExpectError(session.RunTogether({{request, request}}).status(), code, words);
  // As another thread would, in the middle of a run.
  const Session other = Load(model);
  RunOptions options;
  int seen = 0;
  options.observer = [&](absl::string_view /*name*/, const Tensor& /*tensor*/) {
    ++seen;
    ExpectError(state.Rewind(0), code, words);
    ExpectError(state.Set("past.k", Tensor()), code, words);
    ExpectError(state.Clone().status(), code, words);
    ExpectError(state.Select({0}).status(), code, words);
    ExpectError(state.Save("unused"), code, words);
  };
  EXPECT_TRUE(session.Run(Step(0), state, options).ok());
  EXPECT_GT(seen, 0);
  EXPECT_EQ(state.length(), 1);
  EXPECT_EQ(state.Rewind(0), absl::OkStatus());
}

TEST(StateUseTest, CachesMustFit) {
  const std::string model = AppendModel();
  const Session session = Load(model);
  State state = *session.NewState();
  ExpectError(state.Set("past.k", *Tensor::Of<float>({1, 2}, {1, 2})),
              absl::StatusCode::kInvalidArgument,
              "input 'past.k' is carried as float[1,2,0,8], but found float[1,2]");
  ExpectError(state.Set("other", *Tensor::Of<float>({1}, {1})), absl::StatusCode::kInvalidArgument,
              "input 'other' is not carried");
  ExpectError(session.Run({{"past.k", *Tensor::Of<float>({1}, {1})}}, state).status(),
              absl::StatusCode::kInvalidArgument, "input 'past.k' is carried by the state");
  // Two rows of the text, one of the cache.
  ExpectError(session.Run(Step(0, 1, 2), state).status(), absl::StatusCode::kInvalidArgument,
              "is 2 in input 'x' but 1 here");
  ASSERT_EQ(state.Set("past.k", RowsFor({1, 3, 2, kCacheWidth}, 0, 2)), absl::OkStatus());
  ExpectError(session.Run(Step(0), state).status(), absl::StatusCode::kInvalidArgument,
              "input 'past.k' expects float[d4,2,d2,8], but found float[1,3,2,8]");
}

// As exporters write a cache that a trace has cast to its own type.
TEST(StateUseTest, ACarriedOutputMayBeAnotherValueOnceOptimized) {
  onnx::ModelProto model = EmptyModel();
  onnx::GraphProto* graph = model.mutable_graph();
  Declare(graph->add_input(), "x", onnx::TensorProto::FLOAT, {1, 2, -1, kCacheWidth});
  Declare(graph->add_input(), "past.k", onnx::TensorProto::FLOAT, {1, 2, -2, kCacheWidth});
  Declare(graph->add_output(), "y", onnx::TensorProto::FLOAT, {1, 2, -1, kCacheWidth});
  Declare(graph->add_output(), "present.k", onnx::TensorProto::FLOAT, {1, 2, -3, kCacheWidth});
  AddIntAttribute(AddNode(graph, "Concat", {"past.k", "x"}, {"all"}), "axis", 2);
  AddIntAttribute(AddNode(graph, "Cast", {"all"}, {"present.k"}), "to", onnx::TensorProto::FLOAT);
  AddReader(graph, "all", 4);
  const Session session = Load(model.SerializeAsString());
  const Session plain = Load(AppendModel());
  State state = *session.NewState();
  State expected = *plain.NewState();
  for (int64_t at = 0; at < 3; ++at) {
    const auto outputs = session.Run(Step(at), state);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_EQ(BytesOf(outputs->at("y")), BytesOf(plain.Run(Step(at), expected)->at("y")));
  }
  EXPECT_EQ(state.length(), 3);
}

// The model does not declare the output's rank.
TEST(StateUseTest, ACarriedOutputHasTheRankOfItsInput) {
  onnx::ModelProto model = EmptyModel();
  onnx::GraphProto* graph = model.mutable_graph();
  Declare(graph->add_input(), "shape", onnx::TensorProto::INT64, {-1});
  Declare(graph->add_input(), "past.k", onnx::TensorProto::FLOAT, {2, 3});
  graph->add_output()->set_name("present.k");
  AddNode(graph, "Reshape", {"past.k", "shape"}, {"flat"});
  AddNode(graph, "Exp", {"flat"}, {"present.k"});
  const Session session = Load(model.SerializeAsString());
  State state = *session.NewState();
  TensorMap inputs;
  inputs["shape"] = Tensor::Of<int64_t>({1}, {6}).value();
  ExpectError(session.Run(inputs, state).status(), absl::StatusCode::kInvalidArgument,
              "output 'present.k' is carried to input 'past.k', which is float[2,3], but it is "
              "float[6]");
  inputs["shape"] = Tensor::Of<int64_t>({2}, {2, 3}).value();
  EXPECT_TRUE(session.Run(inputs, state).ok());
}

TEST(StateUseTest, BytesAreKnownInAdvance) {
  const struct {
    std::string model;
    int64_t capacity;
    int64_t batch;
  } kCases[] = {{AppendModel(), 100, 1},
                {AppendModel(), 64, 3},
                {WindowModel(10), 0, 1},
                {WindowModel(10), 500, 1},
                {ShiftModel(10), 0, 1},
                {WrittenModel("ScatterND"), 0, 1},
                {WrittenModel("TensorScatter"), 9, 1}};
  for (const auto& [model, capacity, batch] : kCases) {
    const Session session = Load(model);
    const StateOptions options = {.batch = batch, .capacity = capacity};
    const auto bytes = session.StateBytes(options);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    State state = *session.NewState(options);
    EXPECT_EQ(state.byte_size(), *bytes);
    EXPECT_GT(*bytes, 0u);
    if (session.inputs().size() > 2) continue;
    for (int64_t at = 0; at < capacity; ++at) {
      ASSERT_TRUE(session.Run(Step(at, 1, batch), state).ok());
    }
    EXPECT_EQ(state.byte_size(), *bytes);
  }
  const std::string model = AppendModel();
  const Session session = Load(model);
  for (const int64_t capacity : {int64_t{-1}, std::numeric_limits<int64_t>::max()}) {
    EXPECT_EQ(session.StateBytes({.batch = 1, .capacity = capacity}).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

// A cache that keeps all rows beside a window, which tells positions.
TEST(StateUseTest, WindowsAreRewoundAsFarAsTheyRemember) {
  const std::string model = HybridModel(10);
  const Session session = Load(model);
  for (const int64_t start : {1, 6, 10, 11, 25, 90, 180, 500}) {
    State state = *session.NewState({.batch = 1, .capacity = 600});
    for (int64_t at = 0; at < start; ++at) ASSERT_TRUE(session.Run(Step(at), state).ok());
    State clone = *state.Clone();
    const std::string expected = BytesOf(session.Run(Step(start, 4), clone)->at("y"));
    // A guess of some positions is read and taken back.
    for (const int64_t guess : {1, 5, 30}) {
      const auto guessed = session.Run(Step(start + 900, guess), state);
      ASSERT_TRUE(guessed.ok()) << guessed.status();
      ASSERT_EQ(state.Rewind(start), absl::OkStatus()) << start << " and " << guess;
      ASSERT_EQ(state.length(), start);
    }
    EXPECT_EQ(BytesOf(session.Run(Step(start, 4), state)->at("y")), expected) << start;
  }
}

// Nothing says how many positions such a state has read.
TEST(StateUseTest, AWindowAloneIsNotRewound) {
  const std::string model = WindowModel(10);
  const Session session = Load(model);
  State state = *session.NewState();
  ASSERT_TRUE(session.Run(Step(0, 4), state).ok());
  for (const int64_t length : {0, 2, 4, 1000}) {
    const std::string words =
        "the state cannot be rewound: it has no appended values, which count positions";
    ExpectError(state.Rewind(length), absl::StatusCode::kFailedPrecondition, words);
    ExpectError(state.Clone(length, 0).status(), absl::StatusCode::kFailedPrecondition, words);
  }
  EXPECT_TRUE(state.Clone().ok());
}

TEST(StateUseTest, AWindowForgets) {
  const std::string model = HybridModel(10);
  const Session session = Load(model);
  State state = *session.NewState();
  ASSERT_TRUE(session.Run(Step(0, 300), state).ok());
  const std::string before = BytesOf(state.value("past.window"));
  ExpectError(
      state.Rewind(299), absl::StatusCode::kFailedPrecondition,
      "the state cannot be rewound by 1 positions: input 'past.window' is a window that has "
      "lost the positions before it");
  EXPECT_EQ(BytesOf(state.value("past.window")), before);
  EXPECT_EQ(state.length(), 300);
  EXPECT_TRUE(session.Run(Step(300), state).ok());
}

}  // namespace
}  // namespace attnrun::testing
