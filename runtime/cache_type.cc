// SPDX-License-Identifier: Apache-2.0
#include "cache_type.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "cache_path.h"
#include "core/status.h"
#include "ops/attention/fused_attention.h"
#include "ops/attention/quantized_rows.h"
#include "optimizer/analysis/node_queries.h"
#include "state/initial_shapes.h"

namespace attnrun {
namespace {

using ops::FusedAttention;

// The version of the standard operators that this writes.
constexpr int kOpset = 15;

// Gives one cache, along its path, another type.
class CacheConversion {
 public:
  // For int8 the path starts at a value of known rank whose last extent is fixed.
  CacheConversion(DataType type, std::vector<Value*> path, Graph& graph)
      : type_(type), path_(std::move(path)), graph_(graph) {
    const auto& shape = path_.front()->type().shape;
    if (!shape.has_value() || shape->empty()) return;
    rank_ = static_cast<int64_t>(shape->size());
    size_ = shape->back().value;
  }

  absl::Status Run() {
    ATTNRUN_RETURN_IF_ERROR(NarrowUpdates());
    for (Value* value : path_) {
      Type type = value->type();
      type.element = type_;
      if (has_scales() && type.shape.has_value()) type.shape->back() = {row_size(), ""};
      value->set_type(std::move(type));
      ATTNRUN_RETURN_IF_ERROR(WidenForOthers(value));
    }
    return absl::OkStatus();
  }

  bool has_scales() const { return type_ == DataType::kInt8; }
  int64_t row_size() const { return size_ + (has_scales() ? ops::kScaleBytes : 0); }

 private:
  absl::StatusOr<Value*> Add(NodeSpec spec, const Value* like, absl::string_view what,
                             DataType type) {
    const std::string name = graph_.UniqueName(absl::StrCat(like->name(), "_", what));
    ATTNRUN_ASSIGN_OR_RETURN(const Node* node, graph_.AddNode(std::move(spec), {name}));
    Type of = node->output(0)->type();
    of.element = type;
    node->output(0)->set_type(std::move(of));
    return node->output(0);
  }

  // The value in the type of the cache, or as floats again.
  absl::StatusOr<Value*> Convert(Value* from, DataType to) {
    NodeSpec spec;
    spec.inputs = {from};
    if (has_scales()) {
      spec.domain = "attnrun";
      spec.op_type = to == DataType::kInt8 ? "QuantizeRows" : "DequantizeRows";
      spec.opset = 1;
    } else {
      spec.op_type = "Cast";
      spec.opset = kOpset;
      spec.attributes = {{"to", static_cast<int64_t>(to)}};
    }
    return Add(std::move(spec), from, absl::StrCat("as_", Name(to)), to);
  }

  // Converts what nodes on the path take from elsewhere.
  absl::Status NarrowUpdates() {
    for (size_t i = 1; i < path_.size(); ++i) {
      Node* const node = path_[i]->producer();
      for (const int input : MovedInputs(*node)) {
        if (node->input(input) == path_[i - 1]) continue;
        Value* const update = node->input(input);
        const std::vector<Node*> readers = update->consumers();
        ATTNRUN_ASSIGN_OR_RETURN(Value * narrow, Convert(update, type_));
        graph_.SetInput(node, input, narrow);
        ATTNRUN_RETURN_IF_ERROR(RoundForOthers(update, readers, narrow));
      }
    }
    return absl::OkStatus();
  }

  // Lets other nodes that join the update to the cache read it rounded, too: where a layer with a
  // window keeps less than its attention reads, the two are joined for each.
  absl::Status RoundForOthers(const Value* update, const std::vector<Node*>& readers,
                              Value* narrow) {
    Value* wide = nullptr;
    for (Node* const node : readers) {
      if (absl::c_linear_search(path_, node->output(0))) continue;
      for (const int input : MovedInputs(*node)) {
        if (node->input(input) != update) continue;
        if (wide == nullptr) {
          ATTNRUN_ASSIGN_OR_RETURN(wide, Convert(narrow, DataType::kFloat));
        }
        graph_.SetInput(node, input, wide);
      }
    }
    return absl::OkStatus();
  }

  // True if the node reads the type of the cache at this input.
  bool TakesNarrow(const Node& node, size_t input) const {
    if (opt::IsFusedAttention(node)) {
      return input == FusedAttention::kKey || input == FusedAttention::kValue;
    }
    if (opt::IsOp(&node, "Shape") || opt::IsOp(&node, "Size")) return !has_scales();
    return absl::c_linear_search(path_, node.output(0)) &&
           absl::c_linear_search(MovedInputs(node), static_cast<int>(input));
  }

  // Lets nodes that do not take the type read the value as floats.
  absl::Status WidenForOthers(Value* value) {
    Value* wide = nullptr;
    const std::vector<Node*> readers = value->consumers();
    for (Node* const node : readers) {
      for (size_t input = 0; input < node->inputs().size(); ++input) {
        if (node->input(input) != value || TakesNarrow(*node, input)) continue;
        if (opt::IsOp(node, "Shape")) {
          ATTNRUN_RETURN_IF_ERROR(LeaveOutScales(node));
          break;
        }
        if (wide == nullptr) {
          ATTNRUN_ASSIGN_OR_RETURN(wide, Convert(value, DataType::kFloat));
        }
        graph_.SetInput(node, input, wide);
      }
    }
    return absl::OkStatus();
  }

  // Replaces the shape of a cache with scales by that of the cache without: its leading extents,
  // and the number of channels.
  absl::Status LeaveOutScales(Node* shape) {
    Value* const cache = shape->input(0);
    const auto axis = [&](absl::string_view name, int64_t otherwise) {
      const int64_t value = opt::AttributeOr(*shape, name, otherwise);
      return std::clamp<int64_t>(value < 0 ? value + rank_ : value, 0, rank_);
    };
    if (axis("end", rank_) < rank_ || axis("start", 0) == rank_) return absl::OkStatus();
    NodeSpec leading;
    leading.op_type = "Shape";
    leading.opset = kOpset;
    leading.inputs = {cache};
    leading.attributes = {{"start", axis("start", 0)}, {"end", rank_ - 1}};
    ATTNRUN_ASSIGN_OR_RETURN(Value * first,
                             Add(std::move(leading), cache, "leading_shape", DataType::kInt64));
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor channels, Tensor::Of<int64_t>({1}, {size_}));
    ATTNRUN_ASSIGN_OR_RETURN(Value * last,
                             graph_.AddInitializer(graph_.UniqueName("channels"), channels));
    NodeSpec all;
    all.op_type = "Concat";
    all.opset = kOpset;
    all.inputs = {first, last};
    all.attributes = {{"axis", int64_t{0}}};
    ATTNRUN_ASSIGN_OR_RETURN(Value * whole, Add(std::move(all), cache, "shape", DataType::kInt64));
    graph_.ReplaceUses(shape->output(0), whole);
    graph_.RemoveNode(shape);
    return absl::OkStatus();
  }

  const DataType type_;
  // The extents of the cache along its last axis, without scales, and the number of its axes.
  int64_t size_ = -1;
  int64_t rank_ = 0;
  const std::vector<Value*> path_;
  Graph& graph_;
};

// The values from a cache to the one that follows it; none if these may not be of another type.
std::vector<Value*> ConvertiblePath(Value* past, Value* present, DataType type, opt::Facts& facts) {
  if (past->type().element != DataType::kFloat || past == present) return {};
  const auto path = CachePath(past, present);
  if (!path.has_value()) return {};
  if (type != DataType::kInt8) return *path;
  const auto& shape = past->type().shape;
  const bool has_rows = shape.has_value() && !shape->empty() && shape->back().is_fixed();
  if (!has_rows || !KeepsRows(*path, static_cast<int64_t>(shape->size()), facts)) return {};
  return *path;
}

// By value of the layout. Facts about the graph hold until it changes.
std::vector<std::vector<Value*>> ConvertiblePaths(DataType type, const Graph& graph,
                                                  const StateLayout& layout) {
  opt::Facts facts(graph);
  std::vector<std::vector<Value*>> paths(layout.values.size());
  for (size_t i = 0; i < paths.size(); ++i) {
    const StateKind kind = layout.values[i].kind;
    if (kind == StateKind::kKept || kind == StateKind::kReplaced) continue;
    paths[i] = ConvertiblePath(graph.inputs()[layout.inputs[i]], graph.outputs()[layout.outputs[i]],
                               type, facts);
  }
  return paths;
}

// A value on the path of another cache may have its type already.
bool IsFloat(const Value* value) {
  return value->type().element == DataType::kFloat || value->type().element == DataType::kUndefined;
}

// Writes the number of channels of each cache into its type, also where the model declares a name
// for it, as onnxruntime-genai's does.
void FixChannels(const StateLayout& layout, const std::vector<ValueInfo>& inputs, Graph& graph) {
  const auto shapes =
      state::InitialShapes(state::LazyNeeds(graph), inputs, layout.values, StateOptions());
  if (!shapes.ok()) return;
  for (size_t i = 0; i < layout.values.size(); ++i) {
    Value* const past = graph.inputs()[layout.inputs[i]];
    Type of = past->type();
    const Shape& found = (*shapes)[i];
    const bool is_open = of.shape.has_value() && !of.shape->empty() && !of.shape->back().is_fixed();
    if (!is_open || found.size() != of.shape->size() || found.back() == 0) continue;
    of.shape->back() = {found.back(), ""};
    past->set_type(std::move(of));
  }
}

}  // namespace

absl::Status StoreCachesAs(DataType type, Graph& graph, StateLayout& layout,
                           std::vector<ValueInfo>& inputs, std::vector<ValueInfo>& outputs) {
  if (type == DataType::kInt8) FixChannels(layout, inputs, graph);
  const std::vector<std::vector<Value*>> paths = ConvertiblePaths(type, graph, layout);
  for (size_t i = 0; i < paths.size(); ++i) {
    if (paths[i].empty() || !absl::c_all_of(paths[i], IsFloat)) continue;
    CacheConversion conversion(type, paths[i], graph);
    ATTNRUN_RETURN_IF_ERROR(conversion.Run());
    layout.types[i] = type;
    for (ValueInfo* info : {&inputs[layout.inputs[i]], &outputs[layout.outputs[i]]}) {
      info->type = type;
      if (conversion.has_scales() && info->shape.has_value()) {
        info->shape->back() = {conversion.row_size(), ""};
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace attnrun
