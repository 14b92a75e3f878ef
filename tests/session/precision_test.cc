// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "attnrun/session.h"
#include "loader/model_maker.h"
#include "support/offset_op.h"

namespace attnrun::testing {
namespace {

using ::testing::HasSubstr;

// As SmallModel, but y = Offset(x) + w, where the error of Offset is 0.5.
std::string OffsetModel() {
  RegisterOffset();
  onnx::ModelProto model = SmallModel();
  auto* import = model.add_opset_import();
  import->set_domain(kOffsetDomain);
  import->set_version(1);
  onnx::NodeProto* node = model.mutable_graph()->mutable_node(0);
  node->set_op_type("Offset");
  node->set_domain(kOffsetDomain);
  node->set_name("offset");
  AddAttribute(node, "error", onnx::AttributeProto::FLOAT)->set_f(0.5F);
  return model.SerializeAsString();
}

absl::StatusOr<Session> Load(const std::string& bytes, Precision precision,
                             Engine engine = Engine::kOptimized) {
  SessionOptions options;
  options.precision = precision;
  options.engine = engine;
  return Session::LoadBytes(bytes, options);
}

TensorMap Inputs() {
  TensorMap inputs;
  inputs["x"] = *Tensor::Of<float>({2, 2}, {1, -1, 1, -1});
  return inputs;
}

TEST(PrecisionTest, ASessionMeasuresItsOwnError) {
  const std::string bytes = OffsetModel();
  for (const Engine engine : {Engine::kOptimized, Engine::kUnoptimized}) {
    const auto session = Load(bytes, Precision::kBfloat16, engine);
    ASSERT_TRUE(session.ok()) << session.status();
    // The second call has the float32 kernels already.
    for (int call = 0; call < 2; ++call) {
      const auto report = session->MeasurePrecision(Inputs());
      ASSERT_TRUE(report.ok()) << report.status();
      EXPECT_EQ(report->precision, Precision::kBfloat16);
      ASSERT_EQ(report->layers.size(), 1);
      EXPECT_EQ(report->layers[0].node, "offset");
      EXPECT_EQ(report->layers[0].output, "r");
      EXPECT_EQ(report->layers[0].own.relative_rms(), 0.5);
      EXPECT_EQ(report->worst_layer, 0);
      ASSERT_EQ(report->outputs.size(), 1);
      EXPECT_EQ(report->outputs[0].name, "y");
      EXPECT_FLOAT_EQ(static_cast<float>(report->outputs[0].error.largest), 0.5F);
    }
  }
}

TEST(PrecisionTest, BothRunsAreThoseOfSessionsOfTheirPrecision) {
  const std::string bytes = OffsetModel();
  const auto report = Load(bytes, Precision::kBfloat16)->MeasurePrecision(Inputs());
  ASSERT_TRUE(report.ok()) << report.status();
  const auto first = [](const Tensor& tensor) { return tensor.data<float>()[0]; };
  const Tensor lower = Load(bytes, Precision::kBfloat16)->Run(Inputs())->at("y");
  const Tensor float32 = Load(bytes, Precision::kFloat32)->Run(Inputs())->at("y");
  EXPECT_EQ(first(report->outputs[0].lower), first(lower));
  EXPECT_EQ(first(report->outputs[0].float32), first(float32));
  EXPECT_NE(first(lower), first(float32));
}

TEST(PrecisionTest, NothingIsMeasuredInFloat32) {
  const std::string bytes = OffsetModel();
  for (const auto& session :
       {Load(bytes, Precision::kFloat32), Load(bytes, Precision::kBfloat16, Engine::kReference)}) {
    ASSERT_TRUE(session.ok()) << session.status();
    const absl::Status status = session->MeasurePrecision(Inputs()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("computes in float32"));
  }
}

TEST(PrecisionTest, InputsAndLimitsAreThoseOfARun) {
  const std::string bytes = OffsetModel();
  const auto session = Load(bytes, Precision::kBfloat16);
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_EQ(session->MeasurePrecision({}).status().code(), absl::StatusCode::kInvalidArgument);
  RunOptions options;
  options.memory_limit = 15;
  EXPECT_EQ(session->MeasurePrecision(Inputs(), options).status().code(),
            absl::StatusCode::kResourceExhausted);
  // A failed measurement gives its place back.
  EXPECT_TRUE(session->MeasurePrecision(Inputs()).ok());
}

TEST(PrecisionTest, ManyThreadsMayMeasureAtOnce) {
  const std::string bytes = OffsetModel();
  const auto session = Load(bytes, Precision::kBfloat16);
  ASSERT_TRUE(session.ok()) << session.status();
  std::vector<std::future<bool>> callers;
  constexpr int kCallers = 4;
  callers.reserve(kCallers);
  for (int i = 0; i < kCallers; ++i) {
    callers.push_back(std::async(std::launch::async, [&session] {
      const auto report = session->MeasurePrecision(Inputs());
      return report.ok() && report->worst_layer == 0;
    }));
  }
  for (std::future<bool>& caller : callers) EXPECT_TRUE(caller.get());
}

}  // namespace
}  // namespace attnrun::testing
