// SPDX-License-Identifier: Apache-2.0
// The optimizer on a few nodes of any operators, chained by chance, whose shapes need not fit each
// other: such a graph loads, and only a run would refuse it. The target `optimizer` has graphs that
// run, and compares results.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/parallel.h"
#include "core/status.h"
#include "execution/kinds.h"
#include "execution/support.h"
#include "fuzz/targets/node_mutator.h"
#include "fuzz/targets/target.h"
#include "graph/graph.h"
#include "optimizer/optimizer.h"
#include "support/qualified_name.h"

namespace attnrun::testing {
namespace {

class Chain {
 public:
  explicit Chain(Choices& choices) : choices_(choices) {}

  absl::StatusOr<std::unique_ptr<Graph>> Make() {
    const int64_t count = choices_.Int(1, 6);
    for (int64_t n = 0; n < count && !(n > 0 && choices_.empty()); ++n) {
      ATTNRUN_RETURN_IF_ERROR(AddNode(MakeNodeTrial(choices_)));
    }
    ATTNRUN_RETURN_IF_ERROR(exec::CheckSupported(*graph_));
    ATTNRUN_RETURN_IF_ERROR(exec::FindKinds(*graph_));
    return std::move(graph_);
  }

 private:
  absl::Status AddNode(const NodeTrial& trial) {
    NodeSpec spec;
    const QualifiedName name(trial.node.op_type);
    spec.domain = name.domain;
    spec.op_type = name.op_type;
    spec.opset = trial.node.opset;
    spec.attributes = trial.node.attributes;
    for (size_t i = 0; i < trial.node.inputs.size(); ++i) {
      ATTNRUN_ASSIGN_OR_RETURN(spec.inputs.emplace_back(),
                               Input(trial.node.inputs[i], trial.constant[i]));
    }
    std::vector<std::string> names;
    names.reserve(trial.node.num_outputs);
    for (int i = 0; i < trial.node.num_outputs; ++i) names.push_back(Name("y"));
    ATTNRUN_ASSIGN_OR_RETURN(const Node* node, graph_->AddNode(std::move(spec), names));
    for (Value* output : node->outputs()) {
      values_.push_back(output);
      if (choices_.OneIn(3)) graph_->AddOutput(output);
    }
    if (graph_->outputs().empty()) graph_->AddOutput(node->output(0));
    return absl::OkStatus();
  }

  absl::StatusOr<Value*> Input(const Tensor& sample, bool constant) {
    if (!sample.defined()) return nullptr;
    if (!values_.empty() && choices_.OneIn(2)) return choices_.Pick(values_);
    Value* value = nullptr;
    if (constant && !sample.is_sequence()) {
      ATTNRUN_ASSIGN_OR_RETURN(value, graph_->AddInitializer(Name("w"), sample));
    } else {
      ATTNRUN_ASSIGN_OR_RETURN(value, graph_->AddInput(Name("x"), Declared(sample)));
    }
    values_.push_back(value);
    return value;
  }

  // Its type, with fewer known extents.
  Type Declared(const Tensor& sample) {
    Type type = TypeOf(sample);
    if (!type.shape.has_value() || choices_.OneIn(2)) return type;
    if (choices_.OneIn(8)) {
      type.shape.reset();
      return type;
    }
    for (Dim& dim : *type.shape) {
      if (choices_.OneIn(3)) dim = {.symbol = choices_.Of<const char*>({"a", "b", ""})};
    }
    return type;
  }

  std::string Name(absl::string_view kind) { return absl::StrCat(kind, number_++); }

  Choices& choices_;
  std::unique_ptr<Graph> graph_ = std::make_unique<Graph>();
  std::vector<Value*> values_;
  int number_ = 0;
};

}  // namespace
}  // namespace attnrun::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  attnrun::SetNumThreads(1);
  attnrun::testing::Choices choices({data, size});
  const auto graph = attnrun::testing::Chain(choices).Make();
  if (!graph.ok()) return 0;
  const auto rewrites =
      attnrun::opt::Optimize(**graph, {.folded_bytes = int64_t{1} << 20, .check_graph = true});
  if (absl::IsInternal(rewrites.status())) {
    attnrun::testing::Fail(std::string(rewrites.status().message()));
  }
  return 0;
}
