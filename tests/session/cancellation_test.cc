// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <random>
#include <thread>

#include "absl/strings/numbers.h"
#include "attnrun/session.h"
#include "core/same_bits.h"
#include "loader/model_maker.h"

// Runs that are cancelled at random moments. ATTNRUN_TEST_CANCELLATIONS=N says how many.
namespace attnrun::testing {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kRows = 192;
constexpr int kLayers = 12;

// Products, softmaxes and activations in turn.
std::string Layers() {
  onnx::ModelProto model = EmptyModel();
  onnx::GraphProto* graph = model.mutable_graph();
  SetType(graph->add_input(), "x", onnx::TensorProto::FLOAT, {kRows, kRows});
  SetType(graph->add_output(), "y", onnx::TensorProto::FLOAT, {kRows, kRows});
  *graph->add_initializer() = RawTensor("W", onnx::TensorProto::FLOAT, {kRows, kRows},
                                        std::string(kRows * kRows * sizeof(float), '\x3e'));
  std::string before = "x";
  for (int i = 0; i < kLayers; ++i) {
    const std::string layer = std::to_string(i);
    AddNode(graph, "MatMul", {before, "W"}, {"p" + layer});
    AddNode(graph, "Softmax", {"p" + layer}, {"s" + layer});
    before = i + 1 < kLayers ? "g" + layer : "y";
    AddNode(graph, "Gelu", {"s" + layer}, {before});
  }
  return model.SerializeAsString();
}

TensorMap Inputs() {
  std::vector<float> elements(kRows * kRows);
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<float>(i % 17) / 16;
  TensorMap inputs;
  inputs["x"] = *Tensor::Of<float>({kRows, kRows}, elements);
  return inputs;
}

int Cancellations() {
  const char* number = std::getenv("ATTNRUN_TEST_CANCELLATIONS");
  int count = 300;
  return number != nullptr && absl::SimpleAtoi(number, &count) ? count : 300;
}

double Milliseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

TEST(CancellationTest, AtRandomMomentsLeavesTheSessionAsItWas) {
  const std::string bytes = Layers();
  SessionOptions session_options;
  session_options.threads = 2;
  const auto session = Session::LoadBytes(bytes, session_options).value();
  const TensorMap inputs = Inputs();
  const TensorMap expected = session.Run(inputs).value();
  const auto begin = Clock::now();
  ASSERT_TRUE(session.Run(inputs).ok());
  const int64_t usual = std::chrono::nanoseconds(Clock::now() - begin).count();

  std::mt19937 random(1);
  std::vector<double> delays;
  int64_t cancelled = 0;
  for (int i = 0; i < Cancellations(); ++i) {
    std::atomic<bool> cancel = false;
    std::atomic<bool> started = false;
    RunOptions options;
    options.cancel = &cancel;
    Clock::time_point ended;
    auto run = std::async(std::launch::async, [&] {
      started = true;
      auto outputs = session.Run(inputs, options);
      ended = Clock::now();
      return outputs;
    });
    while (!started) std::this_thread::yield();
    const int64_t wait = std::uniform_int_distribution<int64_t>(0, usual * 5 / 4)(random);
    std::this_thread::sleep_for(std::chrono::nanoseconds(wait));
    const auto set = Clock::now();
    cancel = true;
    const auto outputs = run.get();
    if (outputs.ok()) {
      ASSERT_TRUE(SameBits(*outputs, expected)) << i;
    } else {
      ASSERT_EQ(outputs.status().code(), absl::StatusCode::kCancelled) << outputs.status();
      delays.push_back(Milliseconds(ended - set));
      ++cancelled;
    }
    if (i % 16 != 0) continue;
    ASSERT_TRUE(SameBits(session.Run(inputs).value(), expected)) << i;
  }
  ASSERT_TRUE(SameBits(session.Run(inputs).value(), expected));
  EXPECT_EQ(session.Metrics().cancelled, cancelled);
  EXPECT_GT(cancelled, 0);
  RecordProperty("cancelled", std::to_string(cancelled));
  std::sort(delays.begin(), delays.end());
  for (const int percent : {50, 90, 99}) {
    RecordProperty("p" + std::to_string(percent) + "_ms",
                   std::to_string(delays[(delays.size() - 1) * percent / 100]));
  }
}

}  // namespace
}  // namespace attnrun::testing
