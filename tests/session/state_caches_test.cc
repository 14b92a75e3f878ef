// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <list>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "attnrun/session.h"
#include "core/elements.h"
#include "session/cache_models.h"

// Windows and static caches stay in place, and a run with a state gives the bits of one to which
// the caller hands the cache.
namespace attnrun::testing {
namespace {

using ::testing::HasSubstr;

std::string BytesOf(const Tensor& tensor) {
  const Tensor dense = *tensor.Dense();
  return {dense.data<char>(), dense.byte_size()};
}

SessionOptions OneThread(DataType cache_type = DataType::kFloat) {
  SessionOptions options;
  options.threads = 1;
  options.cache_type = cache_type;
  return options;
}

// The bytes outlive all sessions.
Session Load(const std::string& bytes, DataType cache_type = DataType::kFloat) {
  static std::list<std::string> models;
  auto session = Session::LoadBytes(models.emplace_back(bytes), OneThread(cache_type));
  EXPECT_TRUE(session.ok()) << session.status();
  return *std::move(session);
}

// A tensor that shares no bytes with `tensor`.
Tensor CopyOf(const Tensor& tensor) {
  Tensor copy = *Tensor::Allocate(tensor.type(), tensor.shape());
  const std::string bytes = BytesOf(tensor);
  std::memcpy(copy.mutable_raw(), bytes.data(), bytes.size());
  return copy;
}

// The inputs for the positions [begin, end) of a WindowModel.
TensorMap WindowInputs(int64_t begin, int64_t end) {
  TensorMap inputs;
  inputs["x"] = RowsFor({1, 2, end - begin, kCacheWidth}, begin, end);
  return inputs;
}

// The inputs for the positions [begin, end) of a QueryModel: the same, whatever the steps.
TensorMap QueryInputs(int64_t begin, int64_t end) {
  TensorMap inputs;
  const int64_t row = kCacheWidth;
  const Tensor all = RowsFor({1, end, row}, 0, end);
  const absl::Span<const float> data(all.data<float>() + begin * row, (end - begin) * row);
  inputs["x"] = *Tensor::Of<float>({1, end - begin, row}, data);
  inputs["lengths"] = *Tensor::Of<int32_t>({1}, {static_cast<int32_t>(end - 1)});
  inputs["total"] = *Tensor::Of<int32_t>({}, {static_cast<int32_t>(end)});
  return inputs;
}

// Runs a model with the cache by hand.
class ByHand {
 public:
  ByHand(const Session& session, Tensor cache) : session_(session), cache_(std::move(cache)) {}

  std::string Run(TensorMap inputs) {
    inputs["past.k"] = cache_;
    auto outputs = session_.Run(inputs);
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    if (!outputs.ok()) return "";
    cache_ = outputs->at("present.k");
    return BytesOf(outputs->at("y"));
  }
  const Tensor& cache() const { return cache_; }

 private:
  const Session& session_;
  Tensor cache_;
};

std::string RunWith(const Session& session, State& state, const TensorMap& inputs) {
  const auto outputs = session.Run(inputs, state);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return outputs.ok() ? BytesOf(outputs->at("y")) : "";
}

constexpr int64_t kWindow = 20;

TEST(StateCachesTest, AWindowSlidesThroughTenThousandTokensInPlace) {
  const Session session = Load(WindowModel(kWindow));
  ASSERT_EQ(session.state_values().size(), 1u);
  EXPECT_EQ(session.state_values()[0].kind, StateKind::kWindow);
  EXPECT_EQ(session.state_values()[0].window, kWindow);
  State state = *session.NewState();
  ByHand by_hand(session, *Tensor::Of<float>({1, 2, 0, kCacheWidth}, {}));
  const size_t bytes = state.byte_size();
  int64_t arena = 0;
  const auto* memory = state.value("past.k").data<char>();
  for (int64_t at = 0; at < 10'000; ++at) {
    const TensorMap inputs = WindowInputs(at, at + 1);
    ASSERT_EQ(RunWith(session, state, inputs), by_hand.Run(inputs)) << "token " << at;
    const Tensor window = state.value("past.k");
    ASSERT_EQ(window.dim(2), std::min(at + 1, kWindow));
    ASSERT_GE(window.data<char>(), memory);
    ASSERT_LT(window.data<char>(), memory + bytes);
    if (at == 100) arena = session.Metrics().arena_bytes;
  }
  EXPECT_EQ(state.byte_size(), bytes);
  EXPECT_EQ(session.Metrics().arena_bytes, arena);
  EXPECT_EQ(BytesOf(state.value("past.k")), BytesOf(by_hand.cache()));
}

TEST(StateCachesTest, AWindowTakesStepsOfAnyLength) {
  const Session session = Load(WindowModel(kWindow));
  for (const int64_t step : {2, 7, 31, 64, 100, 333}) {
    State state = *session.NewState();
    ByHand by_hand(session, *Tensor::Of<float>({1, 2, 0, kCacheWidth}, {}));
    for (int64_t at = 0; at < 40 * step; at += step) {
      const TensorMap inputs = WindowInputs(at, at + step);
      ASSERT_EQ(RunWith(session, state, inputs), by_hand.Run(inputs)) << at << " by " << step;
    }
  }
}

// Such a cache has room for the window from the first step on, and gives the bits of one that keeps
// all positions.
TEST(StateCachesTest, ACacheThatSlidesBeginsWithRoomForItsWindow) {
  constexpr int64_t kShort = 3;
  constexpr int64_t kRoom = kShort - 1 + 64;
  const Session whole = Load(QueryModel(kShort, /*slides=*/false));
  const Session slides = Load(QueryModel(kShort, /*slides=*/true));
  for (const int64_t step : {1, 2, 5}) {
    State kept = *whole.NewState();
    State state = *slides.NewState();
    EXPECT_EQ(slides.state_values()[0].kind, StateKind::kWindow);
    EXPECT_EQ(state.value("past.k").dim(2), kRoom);
    for (int64_t at = 0; at < 160; at += step) {
      const TensorMap inputs = QueryInputs(at, at + step);
      EXPECT_EQ(RunWith(slides, state, inputs), RunWith(whole, kept, inputs)) << at;
      EXPECT_EQ(state.value("past.k").dim(2), kRoom);
    }
  }
}

// A model may have caches of integers of its own, which stay in place, and whose type
// SessionOptions::cache_type leaves alone.
TEST(StateCachesTest, CachesOfIntegersStayInPlace) {
  for (const int64_t bits : {8, 4}) {
    const std::string model = QuantizedQueryModel(bits);
    const Session session = Load(model, DataType::kBfloat16);
    ASSERT_EQ(session.state_values().size(), 2u);
    EXPECT_EQ(session.state_values()[0].kind, StateKind::kAppended);
    StateOptions options;
    options.capacity = 120;
    State whole = *session.NewState(options);
    EXPECT_EQ(whole.byte_size(), 2 * 120 * kCacheWidth * bits / 8);
    const std::string expected = RunWith(session, whole, QueryInputs(0, 120));
    for (const int64_t step : {1, 3, 40}) {
      State state = *session.NewState(options);
      std::string y;
      for (int64_t at = 0; at < 120; at += step) {
        y += RunWith(session, state, QueryInputs(at, at + step));
      }
      EXPECT_TRUE(y == expected) << bits << " by " << step;
      EXPECT_EQ(state.byte_size(), whole.byte_size());
      EXPECT_EQ(BytesOf(state.value("past.v")), BytesOf(whole.value("past.v")));
    }
  }
}

TEST(StateCachesTest, AWindowOfFixedExtentIsShifted) {
  const Session session = Load(ShiftModel(kWindow));
  EXPECT_EQ(session.state_values()[0].kind, StateKind::kWindow);
  State state = *session.NewState();
  ByHand by_hand(session, *state.value("past.k").Dense());
  const size_t bytes = state.byte_size();
  const auto* memory = state.value("past.k").data<char>();
  for (int64_t at = 0; at < 2'000; ++at) {
    const TensorMap inputs = WindowInputs(at, at + 1);
    ASSERT_EQ(RunWith(session, state, inputs), by_hand.Run(inputs)) << "token " << at;
    ASSERT_GE(state.value("past.k").data<char>(), memory);
    ASSERT_LT(state.value("past.k").data<char>(), memory + bytes);
  }
}

// Also where a Slice cuts the cache.
TEST(StateCachesTest, CachesOfHalvesStayInPlace) {
  for (const bool cuts : {false, true}) {
    const std::string model = cuts ? WindowModel(kWindow) : AppendModel();
    const Session session = Load(model, DataType::kBfloat16);
    EXPECT_EQ(session.inputs()[1].type, DataType::kBfloat16);
    EXPECT_EQ(session.outputs()[1].type, DataType::kBfloat16);
    StateOptions options;
    options.capacity = 100;
    State state = *session.NewState(options);
    const size_t bytes = state.byte_size();
    EXPECT_EQ(2 * bytes, Load(model).NewState(options)->byte_size());
    ByHand by_hand(session, *Tensor::Allocate(DataType::kBfloat16, {1, 2, 0, kCacheWidth}));
    for (int64_t at = 0; at < 100; ++at) {
      const TensorMap inputs = WindowInputs(at, at + 1);
      ASSERT_EQ(RunWith(session, state, inputs), by_hand.Run(inputs)) << "token " << at;
    }
    EXPECT_EQ(state.byte_size(), bytes);
    EXPECT_EQ(state.value("past.k").type(), DataType::kBfloat16);
  }
}

// Neither attention nor those that read its shape need the cache as floats.
TEST(StateCachesTest, AttentionAndShapesReadHalves) {
  const Session session = Load(AppendModel(true), DataType::kFloat16);
  State state = *session.NewState();
  std::vector<ProfileEvent> events;
  RunOptions options;
  options.profile = &events;
  ASSERT_TRUE(session.Run(WindowInputs(0, 3), state, options).ok());
  int casts = 0;
  for (const ProfileEvent& event : events) casts += event.op_type == "Cast" ? 1 : 0;
  // The appended x is converted.
  EXPECT_EQ(casts, 1);
}

// Rows of bytes have their scale behind them, which no reader of a shape sees.
TEST(StateCachesTest, CachesOfBytesStayInPlace) {
  for (const bool cuts : {false, true}) {
    const std::string model = cuts ? WindowModel(kWindow) : AppendModel(true);
    const Session session = Load(model, DataType::kInt8);
    EXPECT_EQ(TypeAndShape(session.inputs()[1]), cuts ? "int8[1,2,d2,12]" : "int8[d4,2,d2,12]");
    EXPECT_EQ(TypeAndShape(session.outputs()[1]), cuts ? "int8[1,2,d3,12]" : "int8[d4,2,d3,12]");
    StateOptions options;
    options.capacity = 100;
    State state = *session.NewState(options);
    const size_t bytes = state.byte_size();
    EXPECT_EQ(bytes * kCacheWidth * sizeof(float),
              Load(model).NewState(options)->byte_size() * (kCacheWidth + sizeof(float)));
    ByHand by_hand(session, *Tensor::Allocate(DataType::kInt8, {1, 2, 0, kCacheWidth + 4}));
    for (int64_t at = 0; at < 100; ++at) {
      const TensorMap inputs = WindowInputs(at, at + 1);
      ASSERT_EQ(RunWith(session, state, inputs), by_hand.Run(inputs)) << "token " << at;
    }
    EXPECT_EQ(state.byte_size(), bytes);
    if (cuts) continue;
    const auto outputs = session.Run(WindowInputs(0, 1), state);
    EXPECT_THAT(ToInts(outputs->at("shape")).value(),
                ::testing::ElementsAre(1, 2, 100, kCacheWidth));
  }
}

TEST(StateCachesTest, BytesAreCloseToFloats) {
  const Session exact = Load(AppendModel());
  const Session session = Load(AppendModel(), DataType::kInt8);
  State rounded = *session.NewState();
  State state = *exact.NewState();
  for (int64_t at = 0; at < 40; at += 4) {
    const Tensor y = exact.Run(WindowInputs(at, at + 4), state)->at("y");
    const Tensor z = session.Run(WindowInputs(at, at + 4), rounded)->at("y");
    for (int64_t i = 0; i < y.num_elements(); ++i) {
      // Values below 1 move by half a step of 1 / 127; scores below 8 by 8 of them, weights by as
      // much of themselves, of which a mean has two.
      EXPECT_NEAR(z.data<float>()[i], y.data<float>()[i], 17 * 0.5 / 127) << at;
    }
  }
}

// A cache whose rows are cut, or whose positions are its last axis, has no rows of one position.
TEST(StateCachesTest, CachesWithoutRowsOfAPositionStayFloats) {
  const Session session = Load(AppendModel(false, 3), DataType::kInt8);
  EXPECT_EQ(session.inputs()[1].type, DataType::kFloat);
  EXPECT_EQ(Load(AppendModel(false, 3), DataType::kFloat16).inputs()[1].type, DataType::kFloat16);
}

TEST(StateCachesTest, TypesOfCachesThatCannotBeAreRefused) {
  const std::string model = AppendModel();
  const auto refused = Session::LoadBytes(model, OneThread(DataType::kUint8));
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.status().message(),
              HasSubstr("cache_type: expected float, float16, bfloat16 or int8, but found uint8"));
}

// Ends a run behind the node with this output.
absl::StatusCode FailBehind(const Session& session, State& state, const TensorMap& inputs,
                            const std::string& output) {
  std::atomic<bool> cancel = false;
  RunOptions options;
  options.cancel = &cancel;
  options.observer = [&](absl::string_view name, const Tensor& /*tensor*/) {
    if (name == output) cancel = true;
  };
  const absl::Status status = session.Run(inputs, state, options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
  return status.code();
}

TEST(StateCachesTest, AFailedRunLeavesAWindowAsItWas) {
  const Session session = Load(WindowModel(kWindow));
  State state = *session.NewState();
  ByHand by_hand(session, *Tensor::Of<float>({1, 2, 0, kCacheWidth}, {}));
  for (int64_t at = 0; at < 1'000; ++at) {
    const TensorMap inputs = WindowInputs(at, at + 1);
    const std::string before = BytesOf(state.value("past.k"));
    ASSERT_EQ(FailBehind(session, state, WindowInputs(at + 5, at + 6), session.outputs()[1].name),
              absl::StatusCode::kCancelled);
    ASSERT_EQ(BytesOf(state.value("past.k")), before);
    ASSERT_EQ(RunWith(session, state, inputs), by_hand.Run(inputs)) << "token " << at;
  }
}

class WrittenTest : public ::testing::TestWithParam<const char*> {
 protected:
  WrittenTest() : session_(Load(WrittenModel(GetParam()))) {}

  // Writes the rows of `text` to the positions from `at` on.
  TensorMap Inputs(int64_t at, int64_t count, int64_t text) const {
    const std::string op = GetParam();
    TensorMap inputs;
    const Shape rows =
        op == "TensorScatter" ? Shape{1, count, kCacheWidth} : Shape{count, kCacheWidth};
    inputs["x"] = RowsFor(rows, text, text + count);
    std::vector<int64_t> places;
    for (int64_t i = 0; i < count; ++i) {
      places.insert(places.end(), op == "ScatterElements" ? kCacheWidth : 1, at + i);
    }
    if (op == "TensorScatter") places.resize(1);
    const auto shape = op == "TensorScatter"     ? Shape{1}
                       : op == "ScatterElements" ? Shape{count, kCacheWidth}
                                                 : Shape{count, 1};
    inputs["at"] = *Tensor::Of<int64_t>(shape, places);
    return inputs;
  }
  // Where writes one row, the others one to three.
  int64_t CountOf(int64_t at) const { return std::string(GetParam()) == "Where" ? 1 : 1 + at % 3; }

  const Session session_;
};

TEST_P(WrittenTest, IsOverwrittenInPlace) {
  ASSERT_EQ(session_.state_values().size(), 1u);
  EXPECT_EQ(session_.state_values()[0].kind, StateKind::kWritten);
  State state = *session_.NewState();
  const void* memory = state.value("past.k").raw();
  ByHand by_hand(session_, CopyOf(state.value("past.k")));
  for (int64_t at = 0; at < 200; ++at) {
    const TensorMap inputs = Inputs(at % (kCacheRows - 2), CountOf(at), at);
    ASSERT_EQ(RunWith(session_, state, inputs), by_hand.Run(inputs)) << at;
    ASSERT_EQ(state.value("past.k").raw(), memory) << at;
    ASSERT_EQ(BytesOf(state.value("past.k")), BytesOf(by_hand.cache())) << at;
  }
}

TEST_P(WrittenTest, MayBeOfFewerBits) {
  for (const DataType type : {DataType::kBfloat16, DataType::kInt8}) {
    const Session session = Load(WrittenModel(GetParam()), type);
    // ScatterElements has an index for each number.
    const bool may_be = type != DataType::kInt8 || std::string(GetParam()) != "ScatterElements";
    ASSERT_EQ(session.inputs()[1].type, may_be ? type : DataType::kFloat);
    State state = *session.NewState();
    const void* memory = state.value("past.k").raw();
    ByHand by_hand(session, CopyOf(state.value("past.k")));
    for (int64_t at = 0; at < 50; ++at) {
      const TensorMap inputs = Inputs(at % (kCacheRows - 2), CountOf(at), at);
      ASSERT_EQ(RunWith(session, state, inputs), by_hand.Run(inputs)) << at;
      // Where needs rows of 32 bytes.
      if (std::string(GetParam()) == "Where") continue;
      ASSERT_EQ(state.value("past.k").raw(), memory) << at;
    }
  }
}

TEST_P(WrittenTest, AFailedRunIsTakenBack) {
  State state = *session_.NewState();
  RunWith(session_, state, Inputs(0, CountOf(2), 50));
  const void* memory = state.value("past.k").raw();
  const std::string before = BytesOf(state.value("past.k"));
  for (const int64_t at : {0, 1, 5}) {
    ASSERT_EQ(FailBehind(session_, state, Inputs(at, CountOf(at), 77), "present.k"),
              absl::StatusCode::kCancelled);
    ASSERT_EQ(BytesOf(state.value("past.k")), before);
    ASSERT_EQ(state.value("past.k").raw(), memory);
  }
  ByHand by_hand(session_, CopyOf(state.value("past.k")));
  const TensorMap inputs = Inputs(3, CountOf(2), 9);
  EXPECT_EQ(RunWith(session_, state, inputs), by_hand.Run(inputs));
}

TEST_P(WrittenTest, ClonesAreApart) {
  State state = *session_.NewState();
  RunWith(session_, state, Inputs(0, CountOf(2), 50));
  State clone = *state.Clone();
  const std::string before = BytesOf(clone.value("past.k"));
  RunWith(session_, state, Inputs(1, CountOf(2), 60));
  EXPECT_EQ(BytesOf(clone.value("past.k")), before);
  EXPECT_NE(BytesOf(state.value("past.k")), before);
}

INSTANTIATE_TEST_SUITE_P(Operators, WrittenTest,
                         ::testing::Values("TensorScatter", "ScatterND", "ScatterElements",
                                           "Where"));

}  // namespace
}  // namespace attnrun::testing
