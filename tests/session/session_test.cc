// SPDX-License-Identifier: Apache-2.0
#include "attnrun/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <string>

#include "absl/time/clock.h"
#include "loader/model_maker.h"
#include "session/occupant.h"

namespace attnrun::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A session admits one run at a time, because a run takes all CPUs.
absl::StatusOr<Session> Load(const std::string& bytes) { return Session::LoadBytes(bytes); }

TensorMap Inputs() {
  TensorMap inputs;
  inputs["x"] = *Tensor::Of<float>({2, 2}, {1, -2, 3, -4});
  return inputs;
}

TEST(SessionTest, AWaitingRunObeysDeadlineAndCancel) {
  const std::string bytes = SmallModel().SerializeAsString();
  const auto session = Load(bytes);
  ASSERT_TRUE(session.ok()) << session.status();
  Occupant occupant(*session, Inputs());

  RunOptions late;
  late.deadline = absl::Now() + absl::Milliseconds(20);
  const absl::Status passed = session->Run(Inputs(), late).status();
  EXPECT_EQ(passed.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(passed.message(), HasSubstr("while it waited for others"));

  std::atomic<bool> cancel = false;
  RunOptions cancelled;
  cancelled.cancel = &cancel;
  auto waiting =
      std::async(std::launch::async, [&] { return session->Run(Inputs(), cancelled).status(); });
  cancel = true;
  EXPECT_EQ(waiting.get().code(), absl::StatusCode::kCancelled);

  EXPECT_EQ(occupant.Leave(), absl::OkStatus());
  EXPECT_EQ(session->Run(Inputs(), {}).status(), absl::OkStatus());
}

TEST(SessionTest, AnObserverThatThrowsEndsTheRunAndNotTheSession) {
  const std::string bytes = SmallModel().SerializeAsString();
  const auto session = Load(bytes);
  ASSERT_TRUE(session.ok()) << session.status();
  RunOptions throwing;
  // NOLINTNEXTLINE(bugprone-std-exception-baseclass): an observer may throw anything.
  throwing.observer = [](absl::string_view, const Tensor&) { throw 42; };
  EXPECT_EQ(session->Run(Inputs(), throwing).status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(session->Run(Inputs()).status(), absl::OkStatus());
}

TEST(SessionTest, AnObserverMustNotRunItsSession) {
  const std::string bytes = SmallModel().SerializeAsString();
  const auto session = Load(bytes);
  ASSERT_TRUE(session.ok()) << session.status();
  absl::Status inner;
  RunOptions options;
  options.observer = [&](absl::string_view, const Tensor&) {
    inner = session->Run(Inputs()).status();
  };
  EXPECT_EQ(session->Run(Inputs(), options).status(), absl::OkStatus());
  EXPECT_EQ(inner.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(session->Run(Inputs()).status(), absl::OkStatus());
}

TEST(SessionTest, ACopiedModelMayChangeWhileItRuns) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("m.onnx", SmallModel().SerializeAsString());
  SessionOptions options;
  options.map_files = false;
  const auto session = Session::Load(path, options);
  ASSERT_TRUE(session.ok()) << session.status();
  const Tensor expected = session->Run(Inputs())->at("y");
  // A mapped file's bytes would be gone.
  std::filesystem::resize_file(path, 1);
  const Tensor y = session->Run(Inputs())->at("y");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(y.data<float>()[i], expected.data<float>()[i]);
}

TEST(SessionTest, RefusesMoreThreadsThanAnyMachineHas) {
  const std::string bytes = SmallModel().SerializeAsString();
  for (const int threads : {-1, 1025, 100000}) {
    SessionOptions options;
    options.threads = threads;
    EXPECT_THAT(Session::LoadBytes(bytes, options).status().message(),
                HasSubstr("expected 0 to 1024 threads"));
  }
}

TEST(SessionTest, RunsIntoTheCallersBuffers) {
  const std::string bytes = SmallModel().SerializeAsString();
  const auto session = Load(bytes);
  ASSERT_TRUE(session.ok()) << session.status();
  const std::string name = session->outputs()[0].name;
  const Tensor expected = session->Run(Inputs())->at(name);
  const auto* values = expected.data<float>();

  // The rows are four elements apart; only their first two elements belong to the output.
  std::vector<float> memory(8, 7.0F);
  const Tensor wide =
      *Tensor::BorrowMutable(DataType::kFloat, {2, 4}, memory.data(), sizeof(float) * 8);
  TensorMap outputs;
  outputs[name] = wide.View({2, 2}, {4, 1}, 0);
  EXPECT_EQ(session->Run(Inputs(), outputs), absl::OkStatus());
  EXPECT_THAT(memory, ElementsAre(values[0], values[1], 7, 7, values[2], values[3], 7, 7));

  outputs.clear();
  outputs[name];
  EXPECT_EQ(session->Run(Inputs(), outputs), absl::OkStatus());
  EXPECT_EQ(outputs[name].shape(), expected.shape());
  outputs.clear();
  EXPECT_EQ(session->Run(Inputs(), outputs), absl::OkStatus());
  EXPECT_TRUE(outputs.empty());
}

TEST(SessionTest, RefusesBuffersThatDoNotFit) {
  const std::string bytes = SmallModel().SerializeAsString();
  const auto session = Load(bytes);
  ASSERT_TRUE(session.ok()) << session.status();
  const std::string name = session->outputs()[0].name;
  const auto message = [&](const std::string& output, const Tensor& buffer) {
    TensorMap outputs;
    outputs[output] = buffer;
    const absl::Status status = session->Run(Inputs(), outputs);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_EQ(message(name, *Tensor::Allocate(DataType::kFloat, {2, 3})),
            "output '" + name + "' is float[2,2], but the buffer given for it is float[2,3]");
  EXPECT_EQ(message(name, *Tensor::Allocate(DataType::kInt64, {2, 2})),
            "output '" + name + "' is float[2,2], but the buffer given for it is int64[2,2]");
  EXPECT_EQ(message("nowhere", Tensor()),
            "there is no output 'nowhere'; the model's outputs are '" + name + "'");
  const float constant[4] = {};
  EXPECT_EQ(message(name, *Tensor::Borrow(DataType::kFloat, {2, 2}, constant, sizeof(constant))),
            "the buffer given for output '" + name + "' may not be written");
}

TEST(SessionTest, AMemoryLimitEndsTheRunAndNotTheSession) {
  const std::string bytes = SmallModel().SerializeAsString();
  const auto session = Load(bytes);
  ASSERT_TRUE(session.ok()) << session.status();
  RunOptions options;
  options.memory_limit = 15;
  const absl::Status status = session->Run(Inputs(), options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("node '"), HasSubstr("a tensor of 16 bytes does not fit: 0 of the "
                                                   "run's limit of 15 bytes are in use")));
  options.memory_limit = 64;
  // Run twice: the first run gives its memory back.
  EXPECT_TRUE(session->Run(Inputs(), options).ok());
  EXPECT_TRUE(session->Run(Inputs(), options).ok());
}

// y = Conv(Relu(x)) with x [1, 16, 64, 64] and 64 features of 3 x 3 elements.
std::string ConvModel() {
  onnx::ModelProto model = SmallModel();
  onnx::GraphProto* graph = model.mutable_graph();
  graph->Clear();
  graph->set_name("conv");
  SetType(graph->add_input(), "x", onnx::TensorProto::FLOAT, {1, 16, 64, 64});
  SetType(graph->add_output(), "y", onnx::TensorProto::FLOAT, {1, 64, 62, 62});
  *graph->add_initializer() =
      RawTensor("w", onnx::TensorProto::FLOAT, {64, 16, 3, 3}, std::string(64 * 16 * 9 * 4, '\0'));
  AddNode(graph, "Relu", {"x"}, {"r"}, "relu");
  AddNode(graph, "Conv", {"r", "w"}, {"y"}, "conv");
  return model.SerializeAsString();
}

TEST(SessionTest, AConvolutionObeysMemoryLimitAndCancel) {
  const auto session = Load(ConvModel());
  ASSERT_TRUE(session.ok()) << session.status();
  const std::vector<float> x(16 * 64 * 64, 1);
  TensorMap inputs;
  inputs["x"] = *Tensor::Of<float>({1, 16, 64, 64}, x);
  RunOptions limited;
  // The limit holds the results of both nodes, but not the scratch space of the convolution.
  limited.memory_limit = (16 * 64 * 64 + 64 * 62 * 62) * 4 + 1024;
  const absl::Status status = session->Run(inputs, limited).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("node 'conv'"));
  std::atomic<bool> cancel = false;
  RunOptions cancelled;
  cancelled.cancel = &cancel;
  cancelled.observer = [&](absl::string_view, const Tensor&) { cancel = true; };
  EXPECT_EQ(session->Run(inputs, cancelled).status().code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(session->Run(inputs).ok());
}

// y = Concat(x, z) along axis 1, whose rows are named apart.
std::string TwoNamesModel() {
  onnx::ModelProto model = SmallModel();
  onnx::GraphProto* graph = model.mutable_graph();
  graph->Clear();
  graph->set_name("two_names");
  for (const auto& [name, rows] : {std::pair("x", "batch"), std::pair("z", "batch of z")}) {
    onnx::ValueInfoProto* input = graph->add_input();
    SetType(input, name, onnx::TensorProto::FLOAT, {1, 2});
    input->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param(
        rows);
  }
  SetType(graph->add_output(), "y", onnx::TensorProto::FLOAT, {});
  graph->mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  onnx::NodeProto* node = AddNode(graph, "Concat", {"x", "z"}, {"y"}, "join");
  AddAttribute(node, "axis", onnx::AttributeProto::INT)->set_i(1);
  return model.SerializeAsString();
}

TEST(SessionTest, ExtentsThatMustBeEqualAreComparedFirst) {
  TensorMap inputs;
  inputs["x"] = *Tensor::Of<float>({2, 2}, {1, 2, 3, 4});
  inputs["z"] = *Tensor::Of<float>({1, 2}, {5, 6});
  const auto session = Load(TwoNamesModel());
  ASSERT_TRUE(session.ok()) << session.status();
  const absl::Status status = session->Run(inputs).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(
      std::string(status.message()),
      AllOf(HasSubstr("node 'join' (Concat) needs batch = 'batch of z'"),
            HasSubstr("batch is 2 in input 'x'"), HasSubstr("'batch of z' is 1 in input 'z'")));
  inputs["z"] = *Tensor::Of<float>({2, 2}, {5, 6, 7, 8});
  const auto outputs = session->Run(inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(outputs->at("y").shape(), Shape({2, 4}));
}

// y = com.microsoft.QuickGelu(x), with a function of that name whose body would give -x.
std::string QuickGeluAsFunction(const std::string& attribute) {
  onnx::ModelProto model = EmptyModel();
  onnx::OperatorSetIdProto* import = model.add_opset_import();
  import->set_domain("com.microsoft");
  import->set_version(1);
  onnx::GraphProto* graph = model.mutable_graph();
  SetType(graph->add_input(), "x", onnx::TensorProto::FLOAT, {2});
  SetType(graph->add_output(), "y", onnx::TensorProto::FLOAT, {2});
  onnx::NodeProto* call = AddNode(graph, "QuickGelu", {"x"}, {"y"});
  call->set_domain("com.microsoft");
  onnx::FunctionProto* function = model.add_functions();
  function->set_domain("com.microsoft");
  function->set_name("QuickGelu");
  function->add_input("x");
  function->add_output("y");
  function->add_opset_import()->set_version(20);
  onnx::AttributeProto* fallback = function->add_attribute_proto();
  fallback->set_name(attribute);
  fallback->set_type(onnx::AttributeProto::FLOAT);
  fallback->set_f(0);
  onnx::NodeProto* body = function->add_node();
  body->set_op_type("Neg");
  body->add_input("x");
  body->add_output("y");
  return model.SerializeAsString();
}

TEST(SessionTest, AFunctionThatIsAnOperatorRunsAsOne) {
  TensorMap inputs;
  inputs["x"] = *Tensor::Of<float>({2}, {2, -4});
  const auto run = [&](const std::string& model) {
    const Tensor y = Load(model)->Run(inputs)->at("y");
    return std::vector<float>(y.data<float>(), y.data<float>() + 2);
  };
  // The function's default alpha of 0 makes it x / 2.
  EXPECT_THAT(run(QuickGeluAsFunction("alpha")), ElementsAre(1, -2));
  // No such operator has this attribute, so it is the body that counts.
  EXPECT_THAT(run(QuickGeluAsFunction("beta")), ElementsAre(-2, 4));
}

}  // namespace
}  // namespace attnrun::testing
