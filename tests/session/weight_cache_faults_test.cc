// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <thread>

#include "absl/strings/match.h"
#include "attnrun/session.h"
#include "loader/model_maker.h"

// Folders of the weight cache that cannot be written, and processes that meet or die in them.
namespace attnrun::testing {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kWidth = 160;

// y = x·W
onnx::ModelProto Product() {
  onnx::ModelProto model = EmptyModel();
  onnx::GraphProto* graph = model.mutable_graph();
  SetType(graph->add_input(), "x", onnx::TensorProto::FLOAT, {1, kWidth});
  SetType(graph->add_output(), "y", onnx::TensorProto::FLOAT, {1, kWidth});
  std::string weight(kWidth * kWidth * sizeof(float), '\0');
  for (int64_t i = 0; i < kWidth * kWidth; ++i) {
    const float element = static_cast<float>(i % 31) / 32;
    std::memcpy(weight.data() + i * sizeof(float), &element, sizeof(float));
  }
  *graph->add_initializer() = RawTensor("W", onnx::TensorProto::FLOAT, {kWidth, kWidth}, weight);
  AddNode(graph, "MatMul", {"x", "W"}, {"y"});
  return model;
}

class WeightCacheFaultsTest : public ::testing::Test {
 protected:
  WeightCacheFaultsTest()
      : model_(folder_.Write("m.onnx", Product().SerializeAsString())),
        cache_(folder_.path("cache")) {
    // A process of another user must get here.
    fs::permissions(folder_.path("."), fs::perms(0755));
    const struct timespec times[2] = {{1'000'000'000, 0}, {1'000'000'000, 0}};
    EXPECT_EQ(utimensat(AT_FDCWD, model_.c_str(), times, 0), 0);
    expected_ = ResultOf(Session::Load(model_));
  }

  static std::vector<float> ResultOf(const absl::StatusOr<Session>& session) {
    if (!session.ok()) return {};
    TensorMap inputs;
    inputs["x"] = *Tensor::Of<float>({1, kWidth}, std::vector<float>(kWidth, 1));
    const auto outputs = session->Run(inputs);
    if (!outputs.ok()) return {};
    const auto* y = outputs->at("y").data<float>();
    return {y, y + kWidth};
  }

  // True if a session with the cache gives what one without it does. Counts its warnings.
  bool IsRight(int* warnings = nullptr) const {
    SessionOptions options;
    options.threads = 1;
    options.weight_cache = cache_;
    options.log = [&](LogLevel, absl::string_view) {
      if (warnings != nullptr) ++*warnings;
    };
    return ResultOf(Session::Load(model_, options)) == expected_;
  }

  // True if `body` does in a child.
  static pid_t Start(const std::function<bool()>& body) {
    const pid_t child = fork();
    if (child == 0) _exit(body() ? EXIT_SUCCESS : EXIT_FAILURE);
    return child;
  }
  static bool Succeeds(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
  }
  // True if a session in a child is right and warns once.
  bool WarnsAndIsRight(const std::function<bool()>& prepare) const {
    return Succeeds(Start([&] {
      int warnings = 0;
      return prepare() && IsRight(&warnings) && warnings == 1;
    }));
  }

  int64_t Count(const std::string& suffix) const {
    int64_t count = 0;
    for (const auto& entry : fs::directory_iterator(cache_)) {
      count += absl::EndsWith(entry.path().string(), suffix) ? 1 : 0;
    }
    return count;
  }

  const TemporaryFolder folder_;
  const std::string model_;
  const std::string cache_;
  std::vector<float> expected_;
};

TEST_F(WeightCacheFaultsTest, AReadOnlyFolderIsAWarning) {
  fs::create_directory(cache_);
  fs::permissions(cache_, fs::perms(0555));
  // Root may write everywhere.
  constexpr uid_t kNobody = 65534;
  EXPECT_TRUE(WarnsAndIsRight([] { return geteuid() != 0 || seteuid(kNobody) == 0; }));
  EXPECT_TRUE(fs::is_empty(cache_));
}

TEST_F(WeightCacheFaultsTest, AFileThatMayNotGrowIsAWarningAndLeavesNothing) {
  EXPECT_TRUE(WarnsAndIsRight([] {
    const rlimit limit = {.rlim_cur = 10'000, .rlim_max = 10'000};
    return setrlimit(RLIMIT_FSIZE, &limit) == 0;
  }));
  EXPECT_TRUE(fs::is_empty(cache_));
}

TEST_F(WeightCacheFaultsTest, EightProcessesMayWriteAtOnce) {
  for (int round = 0; round < 5; ++round) {
    fs::remove_all(cache_);
    std::vector<pid_t> children;
    children.reserve(8);
    for (int i = 0; i < 8; ++i) children.push_back(Start([this] { return IsRight(); }));
    for (const pid_t child : children) EXPECT_TRUE(Succeeds(child));
    EXPECT_EQ(Count(".packed"), 1);
    EXPECT_EQ(Count(".tmp"), 0);
    EXPECT_TRUE(IsRight());
  }
}

TEST_F(WeightCacheFaultsTest, AKilledWriterLeavesNothingThatIsBelieved) {
  std::mt19937 random(1);
  for (int round = 0; round < 30; ++round) {
    const pid_t child = Start([this] {
      for (;;) {
        fs::remove_all(cache_);
        IsRight();
      }
      return false;
    });
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
    kill(child, SIGKILL);
    EXPECT_FALSE(Succeeds(child));
    EXPECT_TRUE(IsRight());
    EXPECT_TRUE(IsRight());
    EXPECT_EQ(Count(".packed"), 1);
  }
}

TEST_F(WeightCacheFaultsTest, FlippedBitsAreFoundWhereTheTimeTells) {
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    EXPECT_TRUE(IsRight());
    for (const auto& entry : fs::directory_iterator(cache_)) {
      if (absl::EndsWith(entry.path().string(), ".packed") != (round % 3 != 0)) continue;
      std::fstream file(entry.path(), std::ios::binary | std::ios::in | std::ios::out);
      const auto position = static_cast<std::streamoff>(random() % fs::file_size(entry.path()));
      file.seekg(position);
      const char byte = static_cast<char>(file.get());
      file.seekp(position);
      file.put(static_cast<char>(byte ^ 1 << random() % 8));
    }
    EXPECT_TRUE(IsRight()) << round;
  }
}

}  // namespace
}  // namespace attnrun::testing
