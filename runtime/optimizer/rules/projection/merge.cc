// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/projection/merge.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/quote.h"
#include "core/status.h"
#include "ops/linear/linear.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rules/projection/weights.h"

namespace attnrun::opt {
namespace {

// True if the biases of these nodes can be joined into one.
bool BiasesFit(const std::vector<Node*>& linears) {
  const Tensor* first = nullptr;
  return absl::c_all_of(linears, [&](const Node* linear) {
    const Value* bias = linear->input(ops::Linear::kBias);
    if (bias == nullptr) return true;
    if (first == nullptr) first = bias->constant();
    return bias->constant()->type() == first->type() &&
           bias->constant()->shape() == Shape{Columns(*linear)};
  });
}

}  // namespace

bool LinearMerger::CanMerge(const Node& node, std::string& why) {
  if (!IsLinear(node)) {
    why = absl::StrCat("the weight of ", node.description(), " is not constant");
    return false;
  }
  const bool plain = node.input(ops::Linear::kResidual) == nullptr &&
                     AttributeOr<std::string>(node, "activation", "").empty();
  const Value* bias = node.input(ops::Linear::kBias);
  const bool constant = (bias == nullptr || bias->is_constant()) && HasConstantWeights(node);
  if (!plain) {
    why = absl::StrCat(node.description(), " has an activation or residual");
  } else if (!constant) {
    why = absl::StrCat("the weight or bias of ", node.description(), " is not constant");
  }
  return plain && constant;
}

bool LinearMerger::SharedElsewhere(const std::vector<Node*>& linears, std::string& why) const {
  // Another layer may share the weights if it multiplies its own input by all of them, since it
  // then merges alike.
  const std::vector<LinearWeight> weights = WeightsOf(linears);
  const auto multiplies = [](const Value* x) {
    return [x](const LinearWeight& weight) {
      return absl::c_any_of(weight.value->consumers(), [x](const Node* other) {
        return IsLinear(*other) && other->input(ops::Linear::kX) == x;
      });
    };
  };
  for (const LinearWeight& weight : weights) {
    const std::string name = absl::StrCat("the weight ", Quoted(weight.value->name()));
    if (unmerged_.contains(weight.value)) {
      why = absl::StrCat(name, " is shared with projections that are not merged");
      return true;
    }
    for (const Node* other : weight.value->consumers()) {
      if (absl::c_linear_search(linears, other)) continue;
      if (IsLinear(*other) && absl::c_all_of(weights, multiplies(other->input(ops::Linear::kX))))
        continue;
      why = absl::StrCat(name, " is shared with ", other->description(),
                         " and would have to be packed twice");
      return true;
    }
  }
  return false;
}

absl::StatusOr<int> LinearMerger::Merge(const std::vector<Node*>& linears, const Node& anchor) {
  const std::vector<LinearWeight> weights = WeightsOf(linears);
  std::string why;
  if (SharedElsewhere(linears, why)) {
    for (const LinearWeight& weight : weights) unmerged_.insert(weight.value);
    context_.Miss(anchor, why);
    return 0;
  }
  if (!CanStandSideBySide(linears) || !BiasesFit(linears)) return 0;
  Patch patch(context_);
  patch.Supersede(linears);
  Value* product =
      SideBySide(patch, linears, JoinedColumns(patch, linears, ops::Linear::kBias, "bias"));
  std::vector<int64_t> widths;
  widths.reserve(linears.size());
  for (const Node* linear : linears) widths.push_back(Columns(*linear));
  const std::vector<Value*> parts =
      patch.Ops("Split", static_cast<int>(linears.size()), {product, patch.Ints(widths)},
                {{"axis", int64_t{-1}}});
  for (size_t i = 0; i < linears.size(); ++i) patch.Replace(linears[i]->output(0), parts[i]);
  return patch.Apply();
}

}  // namespace attnrun::opt
