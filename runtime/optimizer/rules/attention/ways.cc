// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/attention/ways.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "ops/interface/registry.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/trace.h"

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
  return IsOp(&node, "MatMul") && !node.input(0)->is_constant() && !node.input(1)->is_constant();
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

}  // namespace attnrun::opt
