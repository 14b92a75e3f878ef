// SPDX-License-Identifier: Apache-2.0
#include "attnrun/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>

#include "absl/time/clock.h"
#include "attnrun/session.h"
#include "loader/model_maker.h"

namespace attnrun::testing {
namespace {

TensorMap Inputs() {
  TensorMap inputs;
  inputs["x"] = *Tensor::Of<float>({2, 2}, {1, -2, 3, -4});
  return inputs;
}

int64_t Total(const LatencyHistogram& histogram) {
  return std::accumulate(histogram.counts.begin(), histogram.counts.end(), int64_t{0});
}

TEST(MetricsTest, CountRunsByTheirEnds) {
  const std::string bytes = SmallModel().SerializeAsString();
  const auto session = Session::LoadBytes(bytes).value();
  const SessionMetrics before = session.Metrics();
  EXPECT_EQ(before.succeeded + before.failed + before.cancelled, 0);
  EXPECT_EQ(before.constant_bytes, 16);

  for (int i = 0; i < 3; ++i) EXPECT_TRUE(session.Run(Inputs()).ok());
  EXPECT_FALSE(session.Run({}).ok());
  const std::atomic<bool> cancel = true;
  RunOptions cancelled;
  cancelled.cancel = &cancel;
  EXPECT_FALSE(session.Run(Inputs(), cancelled).ok());
  RunOptions late;
  late.deadline = absl::Now() - absl::Seconds(1);
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(session.Run(Inputs(), late).ok());

  const SessionMetrics after = session.Metrics();
  EXPECT_EQ(after.succeeded, 3);
  EXPECT_EQ(after.failed, 1);
  EXPECT_EQ(after.cancelled, 1);
  EXPECT_EQ(after.deadline_exceeded, 2);
  EXPECT_EQ(after.refused, 0);
  EXPECT_EQ(after.waiting, 0);
  EXPECT_EQ(after.running, 0);
  EXPECT_EQ(Total(after.latency), 3);
  EXPECT_EQ(Total(after.wait), 3);
  EXPECT_GT(after.latency.sum, absl::ZeroDuration());
  EXPECT_LE(after.wait.sum, after.latency.sum);
}

TEST(MetricsTest, TellWhatRunsNow) {
  const std::string bytes = SmallModel().SerializeAsString();
  const auto session = Session::LoadBytes(bytes).value();
  SessionMetrics inside;
  RunOptions options;
  options.observer = [&](absl::string_view, const Tensor&) { inside = session.Metrics(); };
  EXPECT_TRUE(session.Run(Inputs(), options).ok());
  EXPECT_EQ(inside.running, 1);
  EXPECT_EQ(inside.waiting, 0);
  EXPECT_EQ(session.Metrics().running, 0);
}

TEST(MetricsTest, ALatencyIsCountedBelowItsBound) {
  const std::string bytes = SmallModel().SerializeAsString();
  const auto session = Session::LoadBytes(bytes).value();
  RunOptions slow;
  bool slept = false;
  slow.observer = [&](absl::string_view, const Tensor&) {
    if (!std::exchange(slept, true)) absl::SleepFor(absl::Milliseconds(3));
  };
  EXPECT_TRUE(session.Run(Inputs(), slow).ok());
  const LatencyHistogram latency = session.Metrics().latency;
  size_t bucket = 0;
  while (latency.counts[bucket] == 0) ++bucket;
  EXPECT_GE(LatencyHistogram::UpperBound(bucket), absl::Milliseconds(3));
  EXPECT_LT(latency.sum, LatencyHistogram::UpperBound(bucket));
  EXPECT_GE(latency.sum, LatencyHistogram::UpperBound(bucket - 1));
}

TEST(MetricsTest, MeasureTheMemoryOfRuns) {
  constexpr int64_t kRows = 256;
  onnx::ModelProto model = EmptyModel();
  onnx::GraphProto* graph = model.mutable_graph();
  SetType(graph->add_input(), "x", onnx::TensorProto::FLOAT, {kRows, kRows});
  SetType(graph->add_output(), "y", onnx::TensorProto::FLOAT, {kRows, kRows});
  AddNode(graph, "MatMul", {"x", "x"}, {"y"});
  const std::string bytes = model.SerializeAsString();
  const auto session = Session::LoadBytes(bytes).value();
  EXPECT_EQ(session.Metrics().arena_bytes, 0);
  TensorMap inputs;
  inputs["x"] = *Tensor::Of<float>({kRows, kRows}, std::vector<float>(kRows * kRows, 1));
  EXPECT_TRUE(session.Run(inputs).ok());
  constexpr int64_t kBytes = kRows * kRows * sizeof(float);
  EXPECT_GE(session.Metrics().arena_peak_bytes, kBytes);
  EXPECT_GE(session.Metrics().arena_bytes, kBytes) << "the next run uses it again";
}

}  // namespace
}  // namespace attnrun::testing
