// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/attention/ways.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "ops/interface/registry.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/trace.h"
#include "optimizer/rewrite/reshape.h"

namespace attnrun::opt {
namespace {

// Exporters write fewer steps.
constexpr int kMaxSteps = 8;

}  // namespace

std::vector<Node*> Source::nodes() const {
  std::vector<Node*> nodes = {node};
  nodes.insert(nodes.end(), way.begin(), way.end());
  return nodes;
}

std::optional<Source> FindSource(Value* value, RuleContext& context,
                                 absl::FunctionRef<bool(const Node&)> is_source) {
  Source source;
  for (int step = 0; step <= kMaxSteps; ++step) {
    // An input that is left out has no source.
    source.node = value == nullptr ? nullptr : value->producer();
    if (source.node == nullptr || OnlyReader(context.graph, value) == nullptr) return std::nullopt;
    if (is_source(*source.node)) break;
    value = PassedOperand(*source.node, source.factor);
    if (step == kMaxSteps) return std::nullopt;
    source.way.push_back(source.node);
  }
  const std::vector<SymInt>* dims = context.facts.DimsOf(value);
  if (dims == nullptr) return std::nullopt;
  std::optional<View> view = View::Dense(*dims);
  for (auto node = source.way.rbegin(); node != source.way.rend() && view.has_value(); ++node) {
    if (!MovesElements(**node)) continue;
    view = ApplyViewNode(**node, *(*node)->output(0), *view, context.facts);
  }
  if (!view.has_value()) return std::nullopt;
  source.view = *std::move(view);
  return source;
}

Value* PassedOperand(const Node& node, double& factor) {
  if (ops::TraitsOf(node).rearranges) return node.input(0);
  double number = 1;
  Value* scaled = ScaledOperand(node, number);
  factor *= number;
  return scaled;
}

Value* Repeated(const Source& source, Value* value, Patch& patch) {
  for (auto node = source.way.rbegin(); node != source.way.rend(); ++node) {
    double factor = 1;
    std::vector<Value*> inputs = (*node)->inputs();
    *absl::c_find(inputs, PassedOperand(**node, factor)) = value;
    value = patch.Again(**node, inputs, (*node)->attributes())[0];
  }
  return value;
}

bool IsMatMulOfComputed(const Node& node) {
  return IsMatMulOfHeads(node) && !node.input(1)->is_constant();
}

bool IsMatMulOfHeads(const Node& node) {
  const Value* right = node.input(1);
  return IsOp(&node, "MatMul") && !node.input(0)->is_constant() &&
         (!right->is_constant() || right->constant()->rank() >= 3);
}

bool LeadsToSoftmax(const Value& scores) {
  const Value* value = &scores;
  for (int step = 0; step < kMaxSteps && value->consumers().size() == 1; ++step) {
    const Node* node = value->consumers()[0];
    if (IsOp(node, "Softmax")) return true;
    // Parts of scores that are put together may become one product.
    const bool passes =
        ops::TraitsOf(*node).elementwise || MovesElements(*node) || IsOp(node, "Concat");
    if (!passes || node->output(0) == nullptr) return false;
    value = node->output(0);
  }
  return false;
}

std::vector<ViewAxis> BatchAxes(const View& matrices) {
  return {matrices.axes().begin(), matrices.axes().end() - 2};
}

Value* JoinedParts(const std::vector<Value*>& parts, int from_last, absl::Span<Value* const> like,
                   Patch& patch) {
  if (absl::c_linear_search(parts, nullptr)) return nullptr;
  if (parts.size() == 1) return parts[0];
  const int axis = patch.facts().RankOf(parts[0]) - from_last;
  if (axis < 0) return nullptr;
  std::vector<SymInt> common(axis + from_last, SymInt(1));
  for (const Value* part : parts) {
    const std::vector<SymInt>* dims = patch.facts().DimsOf(part);
    if (dims == nullptr || dims->size() != common.size()) return nullptr;
    for (size_t i = 0; i < common.size(); ++i) {
      if (!(*dims)[i].is_constant(1)) common[i] = (*dims)[i];
    }
  }
  // A part keeps its own extent along the axis.
  common[axis] = SymInt(1);
  std::vector<Value*> even;
  for (Value* part : parts) {
    std::vector<SymInt> dims = *patch.facts().DimsOf(part);
    dims[axis] = SymInt(1);
    Value* shape = dims == common ? nullptr : ShapeOperand(patch, common, like);
    if (dims != common && shape == nullptr) return nullptr;
    even.push_back(shape == nullptr ? part : patch.Op("Expand", {part, shape}));
  }
  return patch.Op("Concat", even, {{"axis", int64_t{axis}}});
}

}  // namespace attnrun::opt
