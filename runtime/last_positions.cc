// SPDX-License-Identifier: Apache-2.0
#include "last_positions.h"

#include <cstdint>
#include <limits>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "attnrun/session.h"
#include "core/quote.h"
#include "core/status.h"
#include "graph/type.h"

namespace attnrun {
namespace {

// The version of Slice that this writes.
constexpr int kOpset = 13;

absl::StatusOr<Value*> AddInts(Graph& graph, absl::string_view hint, int64_t number) {
  ATTNRUN_ASSIGN_OR_RETURN(Tensor data, Tensor::Of<int64_t>({1}, {number}));
  return graph.AddInitializer(graph.UniqueName(hint), std::move(data));
}

absl::StatusOr<Value*> AddNode(Graph& graph, const std::string& op_type, std::vector<Value*> inputs,
                               const std::string& output) {
  NodeSpec spec;
  spec.op_type = op_type;
  spec.opset = kOpset;
  spec.inputs = std::move(inputs);
  ATTNRUN_ASSIGN_OR_RETURN(const Node* node, graph.AddNode(std::move(spec), {output}));
  return node->output(0);
}

// The negative of the new input: the start of every Slice.
absl::StatusOr<Value*> AddStart(Graph& graph) {
  ATTNRUN_ASSIGN_OR_RETURN(Tensor one, Tensor::Of<int64_t>({1}, {1}));
  ATTNRUN_ASSIGN_OR_RETURN(Value * count, graph.AddInput(kLastPositions, TypeOf(one)));
  graph.SetDefault(count, std::move(one));
  return AddNode(graph, "Neg", {count}, graph.UniqueName("last_positions_start"));
}

absl::Status Cut(Graph& graph, Value* whole, Value* start, Value* end, Value* axis) {
  const std::string name = whole->name();
  const Type type = whole->type();
  graph.Rename(whole, graph.UniqueName(absl::StrCat(name, "_everywhere")));
  const std::vector<Node*> readers = whole->consumers();
  ATTNRUN_ASSIGN_OR_RETURN(Value * last, AddNode(graph, "Slice", {whole, start, end, axis}, name));
  Type cut = type;
  if (cut.shape.has_value()) (*cut.shape)[1] = Dim();
  last->set_type(std::move(cut));
  graph.ReplaceUses(whole, last);
  // Nodes go on reading all positions.
  for (Node* node : readers) {
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      if (node->input(i) == last) graph.SetInput(node, i, whole);
    }
  }
  graph.SetInput(last->producer(), 0, whole);
  return absl::OkStatus();
}

absl::StatusOr<Value*> FindOutput(const Graph& graph, const std::string& name) {
  const auto found =
      absl::c_find_if(graph.outputs(), [&](const Value* output) { return output->name() == name; });
  if (found == graph.outputs().end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model has no output ", Quoted(name), " to be cut to its last positions"));
  }
  const Type& type = (*found)->type();
  if (type.kind != ValueKind::kTensor || !type.shape.has_value() || type.shape->size() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("output ", Quoted(name),
                     " cannot be cut to its last positions: it is no tensor of at least two axes"));
  }
  return *found;
}

}  // namespace

absl::Status CutToLastPositions(const std::vector<std::string>& outputs, Graph& graph) {
  if (outputs.empty()) return absl::OkStatus();
  if (graph.FindValue(kLastPositions) != nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model has a value ", Quoted(kLastPositions), " already"));
  }
  ATTNRUN_ASSIGN_OR_RETURN(Value * start, AddStart(graph));
  ATTNRUN_ASSIGN_OR_RETURN(
      Value * end, AddInts(graph, "last_positions_end", std::numeric_limits<int64_t>::max()));
  ATTNRUN_ASSIGN_OR_RETURN(Value * axis, AddInts(graph, "last_positions_axis", 1));
  for (const std::string& name : outputs) {
    ATTNRUN_ASSIGN_OR_RETURN(Value * whole, FindOutput(graph, name));
    ATTNRUN_RETURN_IF_ERROR(Cut(graph, whole, start, end, axis));
  }
  return absl::OkStatus();
}

absl::Status CheckLastPositions(const Tensor& input) {
  const int64_t count = input.defined() ? input.data<int64_t>()[0] : 1;
  if (count >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("input ", Quoted(kLastPositions), ": expected 0 or more, but found ", count));
}

}  // namespace attnrun
