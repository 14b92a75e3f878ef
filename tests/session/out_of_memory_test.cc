// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>

#include "attnrun/session.h"
#include "loader/model_maker.h"
#include "support/failing_malloc.h"

// Every allocation of a run fails in turn: alone, and with all that follow. ATTNRUN_TEST_STRIDE=N leaves out N - 1 of N.
namespace attnrun::testing {
namespace {

constexpr int64_t kLength = 6;
constexpr int64_t kWidth = 16;

std::string Floats(int64_t count) {
  std::string raw(count * sizeof(float), '\0');
  for (int64_t i = 0; i < count; ++i) {
    const float element = static_cast<float>(i * 7 % 11 - 5) / 16;
    std::memcpy(raw.data() + i * sizeof(float), &element, sizeof(float));
  }
  return raw;
}

void AddWeight(onnx::GraphProto* graph, const std::string& name,
               const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  *graph->add_initializer() = RawTensor(name, onnx::TensorProto::FLOAT, shape, Floats(count));
}

// One layer of a transformer, with one head: attention, a residual, LayerNormalization, Gelu.
onnx::ModelProto Layer() {
  onnx::ModelProto model = EmptyModel();
  onnx::GraphProto* graph = model.mutable_graph();
  SetType(graph->add_input(), "x", onnx::TensorProto::FLOAT, {1, kLength, kWidth});
  SetType(graph->add_output(), "y", onnx::TensorProto::FLOAT, {1, kLength, kWidth});
  for (const std::string name : {"wq", "wk", "wv", "wo"}) AddWeight(graph, name, {kWidth, kWidth});
  AddWeight(graph, "scale", {kWidth});
  AddWeight(graph, "root", {1});
  AddNode(graph, "MatMul", {"x", "wq"}, {"q"});
  AddNode(graph, "MatMul", {"x", "wk"}, {"k"});
  AddNode(graph, "MatMul", {"x", "wv"}, {"v"});
  onnx::NodeProto* turn = AddNode(graph, "Transpose", {"k"}, {"kt"});
  onnx::AttributeProto* order = AddAttribute(turn, "perm", onnx::AttributeProto::INTS);
  for (const int64_t axis : {0, 2, 1}) order->add_ints(axis);
  AddNode(graph, "MatMul", {"q", "kt"}, {"products"});
  AddNode(graph, "Mul", {"products", "root"}, {"scores"});
  AddNode(graph, "Softmax", {"scores"}, {"probabilities"});
  AddNode(graph, "MatMul", {"probabilities", "v"}, {"mixed"});
  AddNode(graph, "MatMul", {"mixed", "wo"}, {"projected"});
  AddNode(graph, "Add", {"projected", "x"}, {"sum"});
  AddNode(graph, "LayerNormalization", {"sum", "scale"}, {"normal"});
  AddNode(graph, "Gelu", {"normal"}, {"y"});
  return model;
}

// A Loop around a call of a function.
onnx::ModelProto Loop() {
  onnx::ModelProto model = EmptyModel();
  auto* domain = model.add_opset_import();
  domain->set_domain("local");
  domain->set_version(1);
  onnx::FunctionProto* function = model.add_functions();
  function->set_name("Twice");
  function->set_domain("local");
  function->add_input("a");
  function->add_output("b");
  function->add_opset_import()->set_version(20);
  onnx::NodeProto* add = function->add_node();
  add->set_op_type("Add");
  for (int i = 0; i < 2; ++i) add->add_input("a");
  add->add_output("b");

  onnx::GraphProto* graph = model.mutable_graph();
  SetType(graph->add_input(), "x", onnx::TensorProto::FLOAT, {1, kLength, kWidth});
  SetType(graph->add_output(), "y", onnx::TensorProto::FLOAT, {1, kLength, kWidth});
  onnx::TensorProto& trips = *graph->add_initializer();
  trips = MakeTensor("trips", onnx::TensorProto::INT64, {});
  trips.add_int64_data(3);
  onnx::NodeProto* loop = AddNode(graph, "Loop", {"trips", "", "x"}, {"y"});
  onnx::GraphProto* body = AddSubgraph(loop, "body");
  SetType(body->add_input(), "i", onnx::TensorProto::INT64, {});
  SetType(body->add_input(), "go", onnx::TensorProto::BOOL, {});
  SetType(body->add_input(), "before", onnx::TensorProto::FLOAT, {1, kLength, kWidth});
  SetType(body->add_output(), "still", onnx::TensorProto::BOOL, {});
  SetType(body->add_output(), "after", onnx::TensorProto::FLOAT, {1, kLength, kWidth});
  AddNode(body, "Identity", {"go"}, {"still"});
  AddNode(body, "Twice", {"before"}, {"twice"})->set_domain("local");
  AddNode(body, "Tanh", {"twice"}, {"after"});
  return model;
}

TensorMap Inputs() {
  std::vector<float> elements(kLength * kWidth);
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<float>(i % 13) / 8;
  TensorMap inputs;
  inputs["x"] = *Tensor::Of<float>({1, kLength, kWidth}, elements);
  return inputs;
}

bool SameBits(const TensorMap& a, const TensorMap& b) {
  const Tensor& x = a.at("y");
  const Tensor& y = b.at("y");
  return x.byte_size() == y.byte_size() && std::memcmp(x.raw(), y.raw(), x.byte_size()) == 0;
}

int64_t Stride() {
  const char* stride = std::getenv("ATTNRUN_TEST_STRIDE");
  return stride == nullptr ? 1 : std::atoi(stride);
}

class OutOfMemoryTest : public ::testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override {
    if (!CanFailAllocations()) GTEST_SKIP() << "a sanitizer has the allocator";
  }

  // Calls `call` until it has met no failure, each time one allocation later. It returns what the
  // library said; `tidy` undoes what is left of it.
  void FailEach(
      const std::function<absl::Status()>& call, const std::function<void()>& tidy = [] {}) {
    // The first calls, and the first failure, make what a process keeps.
    for (int i = 0; i < 3; ++i) {
      FailAllocations(0, i == 1 ? 1 : 0);
      const absl::Status status = call();
      StopFailing();
      tidy();
      ASSERT_EQ(status.ok(), i != 1) << status;
    }
    int64_t live = LiveAllocations();
    int64_t refused = 0;
    int64_t passed = 0;
    for (int64_t first = 0;; first += Stride()) {
      const auto fail = [&] {
        FailAllocations(first, GetParam());
        const absl::Status status = call();
        const int64_t failed = StopFailing();
        tidy();
        return std::pair(status, failed > 0);
      };
      const auto [status, failed] = fail();
      if (!failed) break;
      ++(status.ok() ? passed : refused);
      ASSERT_THAT(status.code(),
                  ::testing::AnyOf(absl::StatusCode::kOk, absl::StatusCode::kResourceExhausted))
          << "allocation " << first << ": " << status;
      if (LiveAllocations() == live) continue;
      // A session may keep more or less for the next run than before. A leak would grow.
      for (int i = 0; i < 3; ++i) {
        if (i > 0) fail();
        ASSERT_EQ(call(), absl::OkStatus());
        tidy();
        if (i < 2) live = LiveAllocations();
      }
      ASSERT_EQ(LiveAllocations(), live) << "allocation " << first << ": " << status;
    }
    EXPECT_GT(refused, 0);
    RecordProperty("refused", std::to_string(refused));
    RecordProperty("passed", std::to_string(passed));
    EXPECT_EQ(call(), absl::OkStatus());
    tidy();
  }
};

SessionOptions Options(int threads, Engine engine = Engine::kOptimized) {
  SessionOptions options;
  options.threads = threads;
  options.engine = engine;
  return options;
}

TEST_P(OutOfMemoryTest, Run) {
  const TensorMap inputs = Inputs();
  for (const onnx::ModelProto& model : {Layer(), Loop()}) {
    const std::string bytes = model.SerializeAsString();
    for (const Engine engine : {Engine::kOptimized, Engine::kUnoptimized, Engine::kReference}) {
      const auto session = Session::LoadBytes(bytes, Options(1, engine));
      ASSERT_TRUE(session.ok()) << session.status();
      const TensorMap expected = session->Run(inputs).value();
      FailEach([&] {
        const auto outputs = session->Run(inputs);
        EXPECT_TRUE(!outputs.ok() || SameBits(*outputs, expected));
        return outputs.status();
      });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(One, OutOfMemoryTest, ::testing::Values(1));
INSTANTIATE_TEST_SUITE_P(AllFrom, OutOfMemoryTest,
                         ::testing::Values(std::numeric_limits<int64_t>::max()));

}  // namespace
}  // namespace attnrun::testing
