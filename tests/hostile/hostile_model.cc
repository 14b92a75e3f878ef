// SPDX-License-Identifier: Apache-2.0
#include "hostile/hostile_model.h"

#include <sys/resource.h>

#include <cstring>
#include <ctime>
#include <map>

#include "absl/time/clock.h"
#include "core/status.h"
#include "support/sanitizer.h"

namespace attnrun::testing {
namespace {

constexpr double kSeconds = 3.0 * kSlowdown;
constexpr int64_t kMemory = int64_t{512} << 20;
constexpr int64_t kTensorMemory = int64_t{64} << 20;

// CPU time rather than wall time, because others may use this machine.
double SecondsOfWork() { return static_cast<double>(clock()) / CLOCKS_PER_SEC; }

int64_t PeakMemory() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * int64_t{1024};
}

absl::StatusOr<TensorMap> Zeros(const Session& session) {
  TensorMap inputs;
  for (const ValueInfo& info : session.inputs()) {
    std::vector<int64_t> shape;
    for (const Dim& dim : info.shape.value_or(std::vector<Dim>())) {
      shape.push_back(dim.is_fixed() ? dim.value : 2);
    }
    ATTNRUN_ASSIGN_OR_RETURN(Tensor zeros, Tensor::Allocate(info.type, shape));
    if (info.type != DataType::kString) std::memset(zeros.mutable_raw(), 0, zeros.byte_size());
    inputs[info.name] = std::move(zeros);
  }
  return inputs;
}

}  // namespace

absl::Status LoadAndRun(const std::string& path, Engine engine, absl::Duration deadline) {
  SessionOptions options;
  options.engine = engine;
  options.threads = 1;
  ATTNRUN_ASSIGN_OR_RETURN(const Session session, Session::Load(path, options));
  ATTNRUN_ASSIGN_OR_RETURN(const TensorMap inputs, Zeros(session));
  RunOptions run;
  run.deadline = absl::Now() + deadline;
  run.memory_limit = kTensorMemory;
  return session.Run(inputs, run).status();
}

onnx::TensorProto Ints(const std::string& name, const std::vector<int64_t>& values) {
  onnx::TensorProto tensor =
      MakeTensor(name, onnx::TensorProto::INT64, {static_cast<int64_t>(values.size())});
  tensor.mutable_int64_data()->Add(values.begin(), values.end());
  return tensor;
}

onnx::TensorProto Floats(const std::string& name, const std::vector<int64_t>& dims,
                         const std::vector<float>& values) {
  onnx::TensorProto tensor = MakeTensor(name, onnx::TensorProto::FLOAT, dims);
  tensor.mutable_float_data()->Add(values.begin(), values.end());
  return tensor;
}

void AddInts(onnx::NodeProto* node, const std::string& name, const std::vector<int64_t>& values) {
  AddAttribute(node, name, onnx::AttributeProto::INTS)
      ->mutable_ints()
      ->Add(values.begin(), values.end());
}

onnx::TensorProto Scalar(const std::string& name, int64_t value) {
  onnx::TensorProto tensor = MakeTensor(name, onnx::TensorProto::INT64, {});
  tensor.add_int64_data(value);
  return tensor;
}

void SetText(onnx::NodeProto* node, const std::string& name, const std::string& text) {
  AddAttribute(node, name, onnx::AttributeProto::STRING)->set_s(text);
}

onnx::NodeProto* Bad(onnx::GraphProto& graph, const std::string& op,
                     const std::vector<onnx::TensorProto>& constants) {
  Names inputs = {"x"};
  for (const onnx::TensorProto& constant : constants) {
    *graph.add_initializer() = constant;
    inputs.push_back(constant.name());
  }
  return AddNode(&graph, op, inputs, {"y"}, "bad");
}

onnx::NodeProto* OfConstants(onnx::GraphProto& graph, const std::string& op,
                             const std::vector<onnx::TensorProto>& constants) {
  Names names;
  for (const onnx::TensorProto& constant : constants) {
    *graph.add_initializer() = constant;
    names.push_back(constant.name());
  }
  return AddNode(&graph, op, names, {"y"}, "bad");
}

void Declare(onnx::GraphProto& graph, const std::vector<int64_t>& x) {
  graph.mutable_input(0)->Clear();
  SetType(graph.mutable_input(0), "x", onnx::TensorProto::FLOAT, x);
}

onnx::NodeProto* BadOf(onnx::GraphProto& graph, const std::vector<int64_t>& x,
                       const std::string& op, const std::vector<onnx::TensorProto>& constants) {
  Declare(graph, x);
  return Bad(graph, op, constants);
}

std::string WriteModel(const TemporaryFolder& folder, decltype(HostileModel::make) make) {
  onnx::ModelProto model = EmptyModel();
  onnx::GraphProto* graph = model.mutable_graph();
  SetType(graph->add_input(), "x", onnx::TensorProto::FLOAT, {2, 3});
  graph->add_output()->set_name("y");
  make(model, *graph);
  return folder.Write("model.onnx", model.SerializeAsString());
}

void ExpectRefused(const HostileModel& hostile) {
  const TemporaryFolder folder;
  const std::string path = WriteModel(folder, hostile.make);
  const bool endless = hostile.code == absl::StatusCode::kDeadlineExceeded;
  const absl::Duration deadline = absl::Milliseconds(endless ? 300 : 20'000);
  for (const Engine engine : {Engine::kOptimized, Engine::kReference}) {
    const double begin = SecondsOfWork();
    const int64_t memory = PeakMemory();
    const absl::Status status = LoadAndRun(path, engine, deadline);
    EXPECT_LT(SecondsOfWork() - begin, kSeconds);
    if (!kSanitizer) {
      EXPECT_LT(PeakMemory() - memory, kMemory);
    }
    EXPECT_EQ(status.code(), hostile.code) << status;
    for (const std::string& said : hostile.said) {
      EXPECT_THAT(Message(status), ::testing::HasSubstr(said));
    }
    EXPECT_LT(status.message().size(), 5000U);
  }
}

}  // namespace attnrun::testing
