// SPDX-License-Identifier: Apache-2.0
#include "attnrun/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "attnrun/session.h"
#include "loader/model_maker.h"
#include "session/occupant.h"

// Each limit of SessionOptions::limits: what is refused and what it says, and that the session goes
// on.
namespace attnrun::testing {
namespace {

using ::testing::HasSubstr;

TensorMap Inputs() {
  TensorMap inputs;
  inputs["x"] = *Tensor::Of<float>({2, 2}, {1, -2, 3, -4});
  return inputs;
}

SessionOptions With(int64_t Limits::* limit, int64_t most) {
  SessionOptions options;
  options.limits.*limit = most;
  return options;
}

// A load must fail at `most` and succeed at one more.
void ExpectRefused(const std::string& bytes, int64_t Limits::* limit, int64_t most,
                   const std::string& message) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("m.onnx", bytes);
  const absl::Status status = Session::Load(path, With(limit, most)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(Message(status), HasSubstr(message));
  EXPECT_EQ(Session::Load(path, With(limit, most + 1)).status(), absl::OkStatus());
}

TEST(LimitsTest, OfTheFile) {
  const std::string bytes = SmallModel().SerializeAsString();
  const auto size = static_cast<int64_t>(bytes.size());
  ExpectRefused(bytes, &Limits::file_bytes, size - 1,
                absl::StrCat("it has ", size, " bytes, but the limit is ", size - 1));
}

TEST(LimitsTest, OfNodes) {
  ExpectRefused(SmallModel().SerializeAsString(), &Limits::nodes, 1,
                "the model has more than 1 nodes, which is the limit");
}

TEST(LimitsTest, OfNodesInFunctions) {
  onnx::ModelProto model = SmallModel();
  auto* domain = model.add_opset_import();
  domain->set_domain("local");
  domain->set_version(1);
  onnx::FunctionProto* function = model.add_functions();
  function->set_name("Own");
  function->set_domain("local");
  function->add_input("a");
  function->add_output("b");
  function->add_opset_import()->set_version(20);
  onnx::NodeProto* inside = function->add_node();
  inside->set_op_type("Relu");
  inside->add_input("a");
  inside->add_output("b");
  model.mutable_graph()->mutable_node(0)->set_op_type("Own");
  model.mutable_graph()->mutable_node(0)->set_domain("local");
  ExpectRefused(model.SerializeAsString(), &Limits::function_nodes, 1,
                "the model's functions expand to more than 1 nodes");
}

TEST(LimitsTest, OfComputedConstants) {
  onnx::ModelProto model = SmallModel();
  *model.mutable_graph()->mutable_node(0)->mutable_input(0) = "w";
  const std::string bytes = model.SerializeAsString();
  EXPECT_EQ(Session::LoadBytes(bytes)->OpCounts().count("Relu"), 0);
  const auto session = Session::LoadBytes(bytes, With(&Limits::folded_bytes, 0));
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_EQ(session->OpCounts().count("Relu"), 1);
}

TEST(LimitsTest, MustNotBeNegative) {
  const absl::Status status =
      Session::LoadBytes(SmallModel().SerializeAsString(), With(&Limits::nodes, -1)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status), HasSubstr("expected limits of 0 or more, but found -1"));
}

// A run of the small model must fail.
void ExpectRunRefused(int64_t Limits::* limit, int64_t most, const std::string& message) {
  const std::string bytes = SmallModel().SerializeAsString();
  const auto session = Session::LoadBytes(bytes, With(limit, most)).value();
  const absl::Status status = session.Run(Inputs()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(Message(status), HasSubstr(message));
}

TEST(LimitsTest, OfATensor) {
  ExpectRunRefused(&Limits::tensor_bytes, 15,
                   "a tensor of 16 bytes exceeds the limit of 15 for each tensor");
}

TEST(LimitsTest, OfARun) {
  ExpectRunRefused(&Limits::run_bytes, 15, "16 bytes does not fit: 0 of the run's limit of 15");
}

TEST(LimitsTest, OfRunsOfBodies) {
  onnx::ModelProto model = EmptyModel();
  onnx::GraphProto* graph = model.mutable_graph();
  SetType(graph->add_input(), "x", onnx::TensorProto::FLOAT, {2, 2});
  SetType(graph->add_input(), "n", onnx::TensorProto::INT64, {});
  SetType(graph->add_output(), "y", onnx::TensorProto::FLOAT, {2, 2});
  onnx::NodeProto* loop = AddNode(graph, "Loop", {"n", "", "x"}, {"y"}, "loop");
  onnx::GraphProto* body = AddSubgraph(loop, "body");
  SetType(body->add_input(), "i", onnx::TensorProto::INT64, {});
  SetType(body->add_input(), "go", onnx::TensorProto::BOOL, {});
  SetType(body->add_input(), "before", onnx::TensorProto::FLOAT, {2, 2});
  SetType(body->add_output(), "still", onnx::TensorProto::BOOL, {});
  SetType(body->add_output(), "after", onnx::TensorProto::FLOAT, {2, 2});
  AddNode(body, "Identity", {"go"}, {"still"});
  AddNode(body, "Relu", {"before"}, {"after"});
  const std::string bytes = model.SerializeAsString();
  const auto session = Session::LoadBytes(bytes, With(&Limits::body_runs, 4)).value();
  TensorMap inputs = Inputs();
  inputs["n"] = *Tensor::Of<int64_t>({}, {5});
  const absl::Status status = session.Run(inputs).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(Message(status), HasSubstr("run more than 4 times, which is the limit"));
  inputs["n"] = *Tensor::Of<int64_t>({}, {4});
  EXPECT_EQ(session.Run(inputs).status(), absl::OkStatus());
}

// Each of the slices that a Scan collects has no elements.
TEST(LimitsTest, OfSlicesWithoutElements) {
  onnx::ModelProto model = EmptyModel();
  onnx::GraphProto* graph = model.mutable_graph();
  SetType(graph->add_input(), "x", onnx::TensorProto::FLOAT, {int64_t{1} << 40, 0});
  SetType(graph->add_output(), "y", onnx::TensorProto::FLOAT, {});
  graph->mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  onnx::NodeProto* scan = AddNode(graph, "Scan", {"x"}, {"y"}, "scan");
  AddIntAttribute(scan, "num_scan_inputs", 1);
  onnx::GraphProto* body = AddSubgraph(scan, "body");
  body->add_input()->set_name("row");
  AddNode(body, "Relu", {"row"}, {"done"});
  body->add_output()->set_name("done");
  const std::string bytes = model.SerializeAsString();
  const auto session =
      Session::LoadBytes(bytes, With(&Limits::run_bytes, int64_t{1} << 20)).value();
  const Tensor x = Tensor::Allocate(DataType::kFloat, {int64_t{1} << 40, 0}).value();
  const absl::Status status = session.Run({{"x", x}}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(Message(status), HasSubstr("'scan'"));
}

TEST(LimitsTest, OfRunsThatWait) {
  // The session reads its constants in these bytes.
  const std::string bytes = SmallModel().SerializeAsString();
  const auto session = Session::LoadBytes(bytes, With(&Limits::waiting_runs, 0)).value();
  Occupant occupant(session, Inputs());
  const absl::Status status = session.Run(Inputs()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_THAT(Message(status), HasSubstr("cannot wait for others: 0 do, which is the limit"));
  EXPECT_EQ(session.Metrics().refused, 1);
  EXPECT_EQ(occupant.Leave(), absl::OkStatus());
  EXPECT_EQ(session.Run(Inputs()).status(), absl::OkStatus());
}

}  // namespace
}  // namespace attnrun::testing
