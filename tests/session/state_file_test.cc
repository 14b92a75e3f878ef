// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "attnrun/session.h"
#include "session/cache_models.h"
#include "weight_cache/checksum.h"

// A saved state is the state, or an error.
namespace attnrun::testing {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kWindow = 6;

SessionOptions OneThread(Precision precision = Precision::kFloat32) {
  SessionOptions options;
  options.threads = 1;
  options.precision = precision;
  return options;
}

std::string Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void Write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

class StateFileTest : public ::testing::Test {
 protected:
  StateFileTest()
      : folder_(::testing::TempDir() + "/state_file_test." + std::to_string(getpid())),
        path_(folder_ + "/state") {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~StateFileTest() override { std::filesystem::remove_all(folder_); }

  static TensorMap Step(int64_t at, int64_t count = 1) {
    TensorMap inputs;
    inputs["x"] = RowsFor({1, 2, count, kCacheWidth}, at, at + count);
    return inputs;
  }

  // The outputs of some more steps.
  std::string Continue(const Session& session, State& state, int64_t at) const {
    std::string bytes;
    for (int64_t i = 0; i < 5; ++i) {
      const auto outputs = session.Run(Step(at + i), state);
      EXPECT_TRUE(outputs.ok()) << outputs.status();
      if (!outputs.ok()) return "";
      const Tensor& y = outputs->at("y");
      bytes.append(y.data<char>(), y.byte_size());
    }
    return bytes;
  }

  // A saved state of nine positions.
  void Save(const Session& session) const {
    State state = *session.NewState();
    ASSERT_TRUE(session.Run(Step(0, 9), state).ok());
    ASSERT_EQ(state.Save(path_), absl::OkStatus());
  }

  absl::Status LoadBytes(const std::string& bytes) const {
    const std::string path = folder_ + "/changed";
    Write(path, bytes);
    const absl::Status status = session_.LoadState(path).status();
    if (!status.ok()) {
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr(path));
    }
    return status;
  }

  const std::string folder_;
  const std::string path_;
  const std::string model_ = WindowModel(kWindow);
  const Session session_ = *Session::LoadBytes(model_, OneThread());
};

TEST_F(StateFileTest, GoesOnWithTheSameBits) {
  for (const std::string& model : {WindowModel(kWindow), AppendModel()}) {
    const Session session = *Session::LoadBytes(model, OneThread());
    State state = *session.NewState({.batch = 1, .capacity = 32});
    ASSERT_TRUE(session.Run(Step(0, 9), state).ok());
    ASSERT_EQ(state.Save(path_), absl::OkStatus());
    auto loaded = session.LoadState(path_, 32);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ(loaded->length(), state.length());
    EXPECT_EQ(loaded->batch(), 1);
    EXPECT_EQ(loaded->byte_size(), state.byte_size());
    EXPECT_EQ(Continue(session, *loaded, 9), Continue(session, state, 9));
    // Nothing is left beside the file.
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
  }
}

TEST_F(StateFileTest, OtherModelsRefuseIt) {
  Save(session_);
  const std::string wider = WindowModel(kWindow + 1);
  const auto status = Session::LoadBytes(wider, OneThread())->LoadState(path_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("a session of another model"));
  const auto lower = Session::LoadBytes(model_, OneThread(Precision::kBfloat16));
  EXPECT_THAT(std::string(lower->LoadState(path_).status().message()),
              HasSubstr("another precision than bf16"));
}

TEST_F(StateFileTest, CachesOfAnotherTypeRefuseIt) {
  Save(session_);
  SessionOptions options = OneThread();
  options.cache_type = DataType::kInt8;
  const Session session = *Session::LoadBytes(model_, options);
  const absl::Status refused = session.LoadState(path_).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("by a session of another cache_type"));
  // Its own it takes.
  Save(session);
  State state = *session.NewState();
  ASSERT_TRUE(session.Run(Step(0, 9), state).ok());
  auto loaded = session.LoadState(path_);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(Continue(session, *loaded, 9), Continue(session, state, 9));
}

TEST_F(StateFileTest, ErrorsNameThePath) {
  EXPECT_EQ(session_.LoadState(folder_ + "/nothing").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(session_.LoadState(folder_).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(session_.LoadState(path_, -1).status().code(), absl::StatusCode::kInvalidArgument);
  const State state = *session_.NewState();
  const absl::Status status = state.Save(folder_ + "/nowhere/state");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("nowhere/state' cannot be written"));
  EXPECT_THAT(std::string(LoadBytes("no state").message()), HasSubstr("is not a saved state"));
}

TEST_F(StateFileTest, EveryTruncationIsRefused) {
  Save(session_);
  const std::string bytes = Read(path_);
  ASSERT_EQ(LoadBytes(bytes), absl::OkStatus());
  for (size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_FALSE(LoadBytes(bytes.substr(0, size)).ok()) << size << " of " << bytes.size();
  }
  EXPECT_FALSE(LoadBytes(bytes + '\0').ok());
}

TEST_F(StateFileTest, EveryFlippedBitIsRefused) {
  Save(session_);
  const std::string bytes = Read(path_);
  std::mt19937 generator(7);
  std::vector<size_t> bits;
  // All of the head, some of the rest.
  for (size_t i = 0; i < 8 * 64; ++i) bits.push_back(i);
  std::uniform_int_distribution<size_t> any(0, 8 * bytes.size() - 1);
  for (int i = 0; i < 500; ++i) bits.push_back(any(generator));
  for (const size_t bit : bits) {
    std::string changed = bytes;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    ASSERT_FALSE(LoadBytes(changed).ok()) << "bit " << bit;
  }
}

// A file whose head was made to fit its checksum.
TEST_F(StateFileTest, HostileNumbersAreRefused) {
  Save(session_);
  const std::string bytes = Read(path_);
  size_t words = 0;
  const auto sum = [](const std::string& head) { return cache::Checksum::Of(head).low; };
  const auto word = [&](size_t i) {
    uint64_t number = 0;
    std::memcpy(&number, bytes.data() + 8 * i, 8);
    return number;
  };
  while (word(words) != sum(bytes.substr(0, 8 * words))) ++words;
  for (const uint64_t hostile : {uint64_t{0}, uint64_t{1} << 31, uint64_t{1} << 62, ~uint64_t{0},
                                 ~uint64_t{0} >> 1, ~uint64_t{7}, uint64_t{1} << 60}) {
    for (size_t i = 0; i < words; ++i) {
      // The batch may be any number.
      if (word(i) == hostile || (i == 6 && hostile >> 63 == 0)) continue;
      std::string changed = bytes;
      std::memcpy(changed.data() + 8 * i, &hostile, 8);
      const uint64_t checksum = sum(changed.substr(0, 8 * words));
      std::memcpy(changed.data() + 8 * words, &checksum, 8);
      ASSERT_FALSE(LoadBytes(changed).ok()) << "word " << i << " is " << hostile;
    }
  }
}

}  // namespace
}  // namespace attnrun::testing
