// SPDX-License-Identifier: Apache-2.0
#include "execution/precision_meter.h"

#include <gtest/gtest.h>

#include <atomic>

#include "support/graph_builder.h"
#include "support/offset_op.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

Value* AddOffset(GraphBuilder& b, Value* x, float error) {
  return b.Op("attnrun.test::Offset", {x}, {{"error", error}});
}

// The plans of a graph for both precisions.
class Meter {
 public:
  explicit Meter(std::unique_ptr<Graph> graph) : graph_(std::move(graph)) {
    RegisterOffset();
    float32_ = exec::Plan::Make(*graph_, exec::KernelOptions{}).value();
    lower_ = exec::Plan::Make(*graph_, exec::KernelOptions{Precision::kBfloat16}).value();
  }

  absl::StatusOr<PrecisionReport> Measure(const std::vector<Tensor>& inputs,
                                          const std::atomic<bool>* cancel = nullptr) const {
    Interrupt interrupt(absl::InfiniteFuture(), cancel);
    return exec::MeasurePrecision({*float32_, *lower_}, inputs, interrupt, Allocator::Heap());
  }

 private:
  std::unique_ptr<Graph> graph_;
  std::unique_ptr<exec::Plan> float32_;
  std::unique_ptr<exec::Plan> lower_;
};

// Abs(Offset(Neg(Offset(Abs(x))))) with errors of 0.5 and 0.25. All steps may work in place.
std::unique_ptr<Graph> Chain(bool outputs_layers = false) {
  GraphBuilder b;
  Value* first = AddOffset(b, b.Op("Abs", {b.Input("x", DataType::kFloat, {"n"})}), 0.5F);
  Value* second = AddOffset(b, b.Op("Neg", {first}), 0.25F);
  b.Output(b.Op("Abs", {second}));
  if (outputs_layers) b.Output(first).Output(second);
  return b.Build().value();
}

Tensor X() { return Make<float>({4}, {-8, 8, -8, 8}); }

TEST(PrecisionMeterTest, SeparatesOwnErrorsFromThoseBefore) {
  const PrecisionReport report = Meter(Chain()).Measure({X()}).value();
  ASSERT_EQ(report.layers.size(), 2);
  EXPECT_EQ(report.layers[0].op_type, "attnrun.test.Offset");
  EXPECT_EQ(report.layers[0].kernel, "offset");
  EXPECT_EQ(report.layers[0].own.rms, 0.5);
  EXPECT_EQ(report.layers[0].accumulated.rms, 0.5);
  EXPECT_EQ(report.layers[0].own.float32_rms, 8);
  // The second layer is given 7.5 instead of 8.
  EXPECT_EQ(report.layers[1].own.largest, 0.25);
  EXPECT_EQ(report.layers[1].own.relative_rms(), 0.25 / 8);
  EXPECT_EQ(report.layers[1].accumulated.largest, 0.75);
  EXPECT_EQ(report.worst_layer, 0);
  ASSERT_EQ(report.outputs.size(), 1);
  EXPECT_EQ(report.outputs[0].error.rms, 0.75);
  ExpectClose(report.outputs[0].float32, Make<float>({4}, {8, 8, 8, 8}), 0);
  ExpectClose(report.outputs[0].lower, Make<float>({4}, {7.25, 7.25, 7.25, 7.25}), 0);
}

// With all values as outputs no step may overwrite one, so these figures are right.
TEST(PrecisionMeterTest, StepsInPlaceSpoilNoFigure) {
  const PrecisionReport plain = Meter(Chain()).Measure({X()}).value();
  const PrecisionReport kept = Meter(Chain(true)).Measure({X()}).value();
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(plain.layers[i].own.rms, kept.layers[i].own.rms);
    EXPECT_EQ(plain.layers[i].accumulated.cosine, kept.layers[i].accumulated.cosine);
  }
  EXPECT_EQ(kept.outputs[1].error.rms, kept.layers[0].accumulated.rms);
  EXPECT_EQ(kept.outputs[2].error.rms, kept.layers[1].accumulated.rms);
}

TEST(PrecisionMeterTest, LayersThatDeclineOrDoNotErrAreNoCulprits) {
  GraphBuilder b;
  Value* x = b.Input("x", DataType::kFloat, {"n"});
  Value* wide = b.Op("Cast", {x}, {{"to", int64_t{11}}});
  b.Output(AddOffset(b, x, 0)).Output(AddOffset(b, wide, 1));
  const PrecisionReport report = Meter(b.Build().value()).Measure({X()}).value();
  ASSERT_EQ(report.layers.size(), 1);
  EXPECT_EQ(report.layers[0].own.rms, 0);
  EXPECT_FALSE(report.worst_layer.has_value());
  EXPECT_EQ(report.outputs[1].error.cosine, 1);
}

TEST(PrecisionMeterTest, ShapesMayDependOnThePrecision) {
  GraphBuilder b;
  Value* x = AddOffset(b, b.Input("x", DataType::kFloat, {"n"}), 8);
  b.Output(AddOffset(b, b.Op("Cast", {b.Op("NonZero", {x})}, {{"to", int64_t{1}}}), 0));
  const PrecisionReport report = Meter(b.Build().value()).Measure({X()}).value();
  EXPECT_EQ(report.layers[1].own.incomparable, "");
  const std::string reason = "float32 gives float[1,4], but the lower precision float[1,2]";
  EXPECT_EQ(report.layers[1].accumulated.incomparable, reason);
  EXPECT_EQ(report.outputs[0].error.incomparable, reason);
}

TEST(PrecisionMeterTest, ObeysTheCancelFlag) {
  const Meter meter(Chain());
  std::atomic<bool> cancel = false;
  EXPECT_TRUE(meter.Measure({X()}, &cancel).ok());
  cancel = true;
  EXPECT_EQ(meter.Measure({X()}, &cancel).status().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace attnrun::testing
