// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/projection/merge.h"

#include <iterator>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/quote.h"
#include "optimizer/analysis/node_queries.h"

namespace attnrun::opt {
namespace {

bool HasConstantWeights(const LinearParts& parts) {
  return absl::c_all_of(parts.weights, [](const LinearWeightParts& weight) {
    return weight.values != nullptr && weight.values->is_constant() &&
           weight.values->constant()->rank() >= 2 && IsConstantOrLeftOut(weight.scales) &&
           IsConstantOrLeftOut(weight.zero_points);
  });
}

// The shape of the weight's values without the axis of the columns.
Shape RowsOf(const LinearWeightParts& weight) {
  Shape shape = weight.values->constant()->shape();
  shape.erase(shape.begin() + (weight.transposed ? 0 : 1));
  return shape;
}

// True if one node can multiply by the weights of both.
bool FitTogether(const LinearParts& a, const LinearParts& b) {
  const LinearWeightParts& first = a.weights[0];
  return a.format == b.format && a.blocks == b.blocks && a.x_scale == b.x_scale &&
         a.x_zero_point == b.x_zero_point &&
         absl::c_all_of(b.weights, [&](const LinearWeightParts& weight) {
           return weight.values->constant()->type() == first.values->constant()->type() &&
                  RowsOf(weight) == RowsOf(first);
         });
}

// True if all biases have one type and an element for each column.
bool BiasesFit(const std::vector<LinearParts>& all) {
  const Tensor* first = nullptr;
  return absl::c_all_of(all, [&](const LinearParts& parts) {
    if (parts.bias == nullptr) return true;
    const Tensor* bias = parts.bias->constant();
    if (first == nullptr) first = bias;
    return bias->type() == first->type() && bias->shape() == Shape{parts.Columns()};
  });
}

// The biases as one of [N], zeros for those that are left out; null if all are. Precondition:
// BiasesFit.
Value* JoinedBias(Patch& patch, const std::vector<LinearParts>& all) {
  const auto some = absl::c_find_if(all, [](const auto& parts) { return parts.bias != nullptr; });
  if (some == all.end()) return nullptr;
  std::vector<double> joined;
  for (const LinearParts& parts : all) {
    joined.resize(joined.size() + static_cast<size_t>(parts.Columns()));
    if (parts.bias == nullptr) continue;
    const absl::StatusOr<std::vector<double>> bias = ToDoubles(*parts.bias->constant());
    if (!bias.ok()) return patch.Constant("bias", bias.status());
    absl::c_copy(*bias, joined.end() - parts.Columns());
  }
  return patch.Constant(absl::StrCat(all[0].weights[0].values->name(), "/merged_bias"),
                        FromDoubles(some->bias->constant()->type(), {std::ssize(joined)}, joined));
}

}  // namespace

bool LinearMerger::CanMerge(const Node& node, std::string& why) {
  if (!IsLinear(node)) {
    why = absl::StrCat("the weight of ", node.description(), " is not constant");
    return false;
  }
  const LinearParts parts = LinearParts::Of(node);
  const bool plain = parts.residual == nullptr && parts.ending.empty();
  const bool constant = IsConstantOrLeftOut(parts.bias) && HasConstantWeights(parts);
  if (!plain) {
    why = absl::StrCat(node.description(), " has an activation or residual");
  } else if (!constant) {
    why = absl::StrCat("the weight or bias of ", node.description(), " is not constant");
  }
  return plain && constant;
}

bool LinearMerger::SharedElsewhere(const std::vector<Node*>& linears,
                                   const std::vector<LinearWeightParts>& weights,
                                   std::string& why) const {
  // Another layer may share the weights if it multiplies its own input by all of them, since it
  // then merges alike.
  const auto multiplies = [](const Value* x) {
    return [x](const LinearWeightParts& weight) {
      return absl::c_any_of(weight.values->consumers(), [x](const Node* other) {
        return IsLinear(*other) && other->input(ops::LinearInputs::kX) == x;
      });
    };
  };
  for (const LinearWeightParts& weight : weights) {
    const std::string name = absl::StrCat("the weight ", Quoted(weight.values->name()));
    if (unmerged_.contains(weight.values)) {
      why = absl::StrCat(name, " is shared with projections that are not merged");
      return true;
    }
    for (const Node* other : weight.values->consumers()) {
      if (absl::c_linear_search(linears, other)) continue;
      if (IsLinear(*other) &&
          absl::c_all_of(weights, multiplies(other->input(ops::LinearInputs::kX)))) {
        continue;
      }
      why = absl::StrCat(name, " is shared with ", other->description(),
                         " and would have to be packed twice");
      return true;
    }
  }
  return false;
}

bool LinearMerger::Merge(const std::vector<Node*>& linears, const Node& anchor, Patch& patch) {
  if (linears.size() < 2) return false;
  std::vector<LinearParts> all;
  all.reserve(linears.size());
  for (const Node* linear : linears) all.push_back(LinearParts::Of(*linear));
  LinearParts merged = all[0];
  for (size_t i = 1; i < all.size(); ++i) {
    merged.weights.insert(merged.weights.end(), all[i].weights.begin(), all[i].weights.end());
  }
  std::string why;
  if (SharedElsewhere(linears, merged.weights, why)) {
    for (const LinearWeightParts& weight : merged.weights) unmerged_.insert(weight.values);
    context_.Miss(anchor, why);
    return false;
  }
  const auto fits = [&](const LinearParts& parts) { return FitTogether(all[0], parts); };
  if (!absl::c_all_of(all, fits) || !BiasesFit(all)) return false;
  patch.Supersede(linears);
  merged.bias = JoinedBias(patch, all);
  Value* product = merged.Write(patch, linears[0]->name());
  std::vector<int64_t> widths;
  widths.reserve(all.size());
  for (const LinearParts& parts : all) widths.push_back(parts.Columns());
  const std::vector<Value*> parts =
      patch.Ops("Split", static_cast<int>(linears.size()), {product, patch.Ints(widths)},
                {{"axis", int64_t{-1}}});
  for (size_t i = 0; i < linears.size(); ++i) patch.Replace(linears[i]->output(0), parts[i]);
  return true;
}

}  // namespace attnrun::opt
