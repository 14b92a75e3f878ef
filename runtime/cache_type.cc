// SPDX-License-Identifier: Apache-2.0
#include "cache_type.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "ops/attention/fused_attention.h"
#include "optimizer/analysis/node_queries.h"

namespace attnrun {
namespace {

using ops::FusedAttention;

// The version of Cast that this writes.
constexpr int kOpset = 13;
bool Appends(const Node& node) {
  const std::string op = node.qualified_op_type();
  return op == "Concat" || op == "attnrun.AppendToCache";
}

bool Moves(const Node& node) {
  constexpr absl::string_view kMovers[] = {"Slice", "Transpose", "Reshape", "Squeeze", "Unsqueeze"};
  return Appends(node) || absl::c_linear_search(kMovers, node.qualified_op_type());
}

// The inputs of a node that are elements of its output.
absl::Span<Value* const> Moved(const Node& node) {
  const absl::Span<Value* const> inputs = node.inputs();
  return opt::IsOp(&node, "Concat") ? inputs : inputs.first(Appends(node) ? 2 : 1);
}

// True if the node reads a half at this input as it is.
bool TakesHalf(const Node& node, size_t input, const std::vector<Value*>& path) {
  if (opt::IsOp(&node, "Shape") || opt::IsOp(&node, "Size")) return true;
  if (node.qualified_op_type() == "attnrun.Attention") {
    return input == FusedAttention::kKey || input == FusedAttention::kValue;
  }
  return Moves(node) && input < Moved(node).size() && absl::c_linear_search(path, node.output(0));
}

absl::StatusOr<Value*> AddCast(Graph& graph, Value* from, DataType to) {
  NodeSpec spec;
  spec.op_type = "Cast";
  spec.opset = kOpset;
  spec.inputs = {from};
  spec.attributes = {{"to", static_cast<int64_t>(to)}};
  const std::string name = graph.UniqueName(absl::StrCat(from->name(), "_as_", Name(to)));
  ATTNRUN_ASSIGN_OR_RETURN(const Node* node, graph.AddNode(std::move(spec), {name}));
  Type type = from->type();
  type.element = to;
  node->output(0)->set_type(std::move(type));
  return node->output(0);
}

// Casts what nodes on the path take from elsewhere.
absl::Status CastUpdates(const std::vector<Value*>& path, DataType type, Graph& graph) {
  for (size_t i = 1; i < path.size(); ++i) {
    Node* const node = path[i]->producer();
    for (size_t input = 0; input < Moved(*node).size(); ++input) {
      if (node->input(input) == path[i - 1]) continue;
      ATTNRUN_ASSIGN_OR_RETURN(Value * cast, AddCast(graph, node->input(input), type));
      graph.SetInput(node, input, cast);
    }
  }
  return absl::OkStatus();
}

// Lets nodes that do not take halves read a cast of the value.
absl::Status CastForOthers(Value* value, const std::vector<Value*>& path, Graph& graph) {
  Value* cast = nullptr;
  const std::vector<Node*> readers = value->consumers();
  for (Node* const node : readers) {
    for (size_t input = 0; input < node->inputs().size(); ++input) {
      if (node->input(input) != value || TakesHalf(*node, input, path)) continue;
      if (cast == nullptr) {
        ATTNRUN_ASSIGN_OR_RETURN(cast, AddCast(graph, value, DataType::kFloat));
      }
      graph.SetInput(node, input, cast);
    }
  }
  return absl::OkStatus();
}

// True if a node in a body reads the value.
bool IsReadInBody(const Value* value) {
  return absl::c_any_of(value->consumers(), [&](const Node* node) {
    return absl::c_linear_search(node->implicit_inputs(), value);
  });
}

// The values from a cache to the one that follows it, if they may be of another type. A cache is the
// first input of the operators that it passes through (see state::Trail).
std::optional<std::vector<Value*>> CacheOf(Value* past, Value* present) {
  if (past->type().element != DataType::kFloat || past == present) return std::nullopt;
  std::vector<Value*> path = {present};
  while (path.back() != past) {
    const Node* const node = path.back()->producer();
    if (node == nullptr || !Moves(*node)) return std::nullopt;
    path.push_back(node->input(0));
  }
  absl::c_reverse(path);
  if (absl::c_any_of(path, IsReadInBody)) return std::nullopt;
  // A value on the path of another cache has its type already.
  const auto is_float = [](const Value* value) {
    return value->type().element == DataType::kFloat ||
           value->type().element == DataType::kUndefined;
  };
  if (!absl::c_all_of(path, is_float)) return std::nullopt;
  return path;
}

void SetElementType(Value* value, DataType element_type) {
  Type type = value->type();
  type.element = element_type;
  value->set_type(std::move(type));
}

}  // namespace

absl::Status StoreCachesAs(DataType type, Graph& graph, StateLayout& layout,
                           std::vector<ValueInfo>& inputs, std::vector<ValueInfo>& outputs) {
  for (size_t i = 0; i < layout.values.size(); ++i) {
    const StateKind kind = layout.values[i].kind;
    if (kind != StateKind::kAppended && kind != StateKind::kWindow) continue;
    const auto path = CacheOf(graph.inputs()[layout.inputs[i]], graph.outputs()[layout.outputs[i]]);
    if (!path.has_value()) continue;
    ATTNRUN_RETURN_IF_ERROR(CastUpdates(*path, type, graph));
    for (Value* value : *path) {
      SetElementType(value, type);
      ATTNRUN_RETURN_IF_ERROR(CastForOthers(value, *path, graph));
    }
    layout.types[i] = type;
    inputs[layout.inputs[i]].type = type;
    outputs[layout.outputs[i]].type = type;
  }
  return absl::OkStatus();
}

}  // namespace attnrun
