// SPDX-License-Identifier: Apache-2.0

// Opsets before 18 lack GroupNormalization, so exporters write it as an InstanceNormalization
// between two Reshapes:
//
//   x [N, C, ..] -> Reshape [N, G, ..] -> InstanceNormalization(1, 0) -> Reshape [N, C, ..]
//     -> Mul(scale [C, 1..]) -> Add(bias [C, 1..])
//   -->
//   GroupNormalization(x, scale, bias) {num_groups=G}
//
// With one group for each channel there are no Reshapes, and the result is InstanceNormalization(x,
// scale, bias).

#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/pattern.h"
#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {
namespace {

// The constant's elements [C], if it has one for each of the `channels`, axis 1 of `rank` axes.
std::optional<Tensor> PerChannel(const Value& constant, int64_t channels, int rank) {
  const Tensor& tensor = *constant.constant();
  const int axis = 1 - (rank - tensor.rank());
  if (tensor.num_elements() != channels || axis < 0 || tensor.dim(axis) != channels) {
    return std::nullopt;
  }
  auto flat = tensor.Reshaped({channels});
  return flat.ok() ? std::optional<Tensor>(*std::move(flat)) : std::nullopt;
}

// A normalization without scale and bias: its input and the number of groups of channels.
struct Plain {
  Value* x = nullptr;
  int64_t groups = 0;
  float epsilon = 0;
};

std::optional<Plain> FindPlain(Value* value, Facts& facts) {
  const Node* const back = ProducerOf(value, "Reshape");
  const Node* const node =
      ProducerOf(back == nullptr ? value : back->input(0), "InstanceNormalization");
  if (node == nullptr) return std::nullopt;
  if (UniformOf(node->input(1)) != 1 || UniformOf(node->input(2)) != 0) return std::nullopt;
  const auto groups = facts.Extent(node->input(0), 1);
  if (!groups.has_value()) return std::nullopt;
  const float epsilon = AttributeOr(*node, "epsilon", 1e-5F);
  if (back == nullptr) return Plain{node->input(0), *groups, epsilon};
  // The rows must be whole groups of one sample, so samples must stay a separate axis.
  const Node* const there = ProducerOf(node->input(0), "Reshape");
  if (there == nullptr) return std::nullopt;
  Value* const x = there->input(0);
  const std::vector<SymInt>* dims = facts.DimsOf(x);
  const std::vector<SymInt>* grouped = facts.DimsOf(node->input(0));
  const std::vector<SymInt>* after = facts.DimsOf(value);
  if (dims == nullptr || grouped == nullptr || after == nullptr || dims->size() < 3 ||
      *dims != *after || (*dims)[0] != (*grouped)[0]) {
    return std::nullopt;
  }
  return Plain{x, *groups, epsilon};
}

// Writes the operator for this number of groups.
Value* Normalized(Patch& patch, const Plain& plain, int64_t channels, Value* scale, Value* bias,
                  absl::string_view name) {
  AttributeMap attributes = {{"epsilon", plain.epsilon}};
  if (plain.groups != channels) attributes["num_groups"] = plain.groups;
  return patch.Op(plain.groups == channels ? "InstanceNormalization" : "GroupNormalization",
                  {plain.x, scale, bias}, attributes, name);
}

bool FuseGroups(RuleContext& context, Node* node, Patch& patch) {
  Facts& facts = context.facts;
  Value* normalized;
  Value* scale;
  Value* bias;
  MatchedNodes nodes;
  const Pattern pattern =
      Op("Add", {Op("Mul", {Constant(&scale), Is(&normalized)}), Constant(&bias)});
  if (!pattern.Match(node->output(0), facts, nodes)) return false;
  const auto plain = FindPlain(normalized, facts);
  if (!plain.has_value()) return false;
  const int rank = facts.RankOf(plain->x);
  const auto channels = facts.Extent(plain->x, 1);
  if (!channels.has_value() || plain->groups < 1 || *channels % plain->groups != 0) return false;
  const auto scales = PerChannel(*scale, *channels, rank);
  const auto biases = PerChannel(*bias, *channels, rank);
  if (!scales.has_value() || !biases.has_value() || scales->type() != facts.TypeOf(plain->x)) {
    return false;
  }
  patch.Supersede(nodes);
  Value* result = Normalized(patch, *plain, *channels, patch.Constant(scale->name(), *scales),
                             patch.Constant(bias->name(), *biases), node->name());
  patch.Replace(node->output(0), result);
  return patch.CanApply();
}

// Rewrites a GroupNormalization with one group for each channel to InstanceNormalization.
bool Rename(RuleContext& context, Node* node, Patch& patch) {
  const auto groups = AttributeOr<int64_t>(*node, "num_groups", 0);
  if (groups < 1 || context.facts.Extent(node->input(0), 1) != groups) return false;
  const Plain plain = {node->input(0), groups, AttributeOr(*node, "epsilon", 1e-5F)};
  return patch.Substitute(
      node, Normalized(patch, plain, groups, node->input(1), node->input(2), node->name()));
}

}  // namespace

extern const Rule kGroupNormalization = {
    .name = "group_normalization",
    .summary = "InstanceNormalization between Reshapes becomes GroupNormalization",
    .starts = {{{"Add", FuseGroups}, {"GroupNormalization", Rename}}}};

}  // namespace attnrun::opt
