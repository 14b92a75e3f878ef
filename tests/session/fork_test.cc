// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <future>
#include <iterator>
#include <thread>

#include "attnrun/session.h"
#include "loader/model_maker.h"

// Sessions in a child made by fork().
namespace attnrun::testing {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kRows = 512;

// y = x·W, large enough for two threads.
std::string Product() {
  onnx::ModelProto model = EmptyModel();
  onnx::GraphProto* graph = model.mutable_graph();
  SetType(graph->add_input(), "x", onnx::TensorProto::FLOAT, {kRows, kRows});
  SetType(graph->add_output(), "y", onnx::TensorProto::FLOAT, {kRows, kRows});
  *graph->add_initializer() = RawTensor("W", onnx::TensorProto::FLOAT, {kRows, kRows},
                                        std::string(kRows * kRows * sizeof(float), '\x3e'));
  AddNode(graph, "MatMul", {"x", "W"}, {"y"}, "product");
  return model.SerializeAsString();
}

TensorMap Inputs() {
  TensorMap inputs;
  inputs["x"] = *Tensor::Of<float>({kRows, kRows}, std::vector<float>(kRows * kRows, 1));
  return inputs;
}

Session Load(const std::string& bytes) {
  SessionOptions options;
  options.threads = 2;
  return Session::LoadBytes(bytes, options).value();
}

int64_t Threads() {
  return std::distance(fs::directory_iterator("/proc/self/task"), fs::directory_iterator());
}

// True if `body` returns true in a child. A child that hangs is killed.
bool InChild(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(body() ? EXIT_SUCCESS : EXIT_FAILURE);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
}

TEST(ForkTest, AnIdleSessionRunsInAChildOnAllItsThreads) {
  const std::string bytes = Product();
  const Session session = Load(bytes);
  const TensorMap inputs = Inputs();
  ASSERT_TRUE(session.Run(inputs).ok());
  EXPECT_GE(Threads(), 2);
  EXPECT_TRUE(
      InChild([&] { return Threads() == 1 && session.Run(inputs).ok() && Threads() == 2; }));
  EXPECT_TRUE(session.Run(inputs).ok());
}

TEST(ForkTest, ASessionThatRanDuringTheForkRefusesTheChild) {
  const std::string bytes = Product();
  const Session session = Load(bytes);
  const TensorMap inputs = Inputs();
  std::promise<void> entered;
  std::promise<void> leave;
  RunOptions waiting;
  waiting.observer = [&](absl::string_view, const Tensor&) {
    entered.set_value();
    leave.get_future().wait();
  };
  std::thread runner([&] { EXPECT_TRUE(session.Run(inputs, waiting).ok()); });
  entered.get_future().wait();
  EXPECT_TRUE(InChild([&] {
    return session.Run(inputs).status().code() == absl::StatusCode::kFailedPrecondition;
  }));
  EXPECT_TRUE(InChild([&] { return Load(bytes).Run(inputs).ok(); }));
  leave.set_value();
  runner.join();
  EXPECT_TRUE(session.Run(inputs).ok());
}

}  // namespace
}  // namespace attnrun::testing
