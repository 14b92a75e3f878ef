// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rules/attention/score_order.h"

#include <array>

#include "absl/algorithm/container.h"
#include "absl/strings/string_view.h"
#include "optimizer/analysis/node_queries.h"

namespace attnrun::opt {

std::vector<int64_t> StackOrder(const Node* node, int rank) {
  if (rank < 4 || !IsOp(node, "Transpose")) return {};
  const auto order = PermutationOf(*node, rank);
  if (!order.has_value()) return {};
  const bool keeps_matrices = order->at(rank - 2) == rank - 2 && order->at(rank - 1) == rank - 1;
  return keeps_matrices ? *order : std::vector<int64_t>();
}

std::vector<int64_t> Inverse(const std::vector<int64_t>& order) {
  std::vector<int64_t> inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i) inverse[order[i]] = static_cast<int64_t>(i);
  return inverse;
}

bool IsScoreArithmetic(const Node* node) {
  static constexpr std::array<absl::string_view, 6> kOps = {"Add", "Sub",  "Mul",
                                                            "Div", "Cast", "Where"};
  return node != nullptr && node->domain().empty() && absl::c_linear_search(kOps, node->op_type());
}

bool IsOverKeys(const Node& softmax, int rank) {
  const int64_t axis = AttributeOr<int64_t>(softmax, "axis", -1);
  return softmax.opset() >= 13 && (axis == -1 || axis == rank - 1);
}

void TransposeBehind(Node* softmax, Value* scores, const std::vector<int64_t>& order,
                     Patch& patch) {
  patch.Supersede({softmax});
  Value* y = patch.Op("Softmax", {scores}, {{"axis", int64_t{-1}}}, softmax->name());
  const std::vector<int64_t> back = Inverse(order);
  for (Node* reader : softmax->output(0)->consumers()) {
    if (!IsTranspose(reader, back)) continue;
    patch.Supersede({reader});
    patch.Replace(reader->output(0), y);
  }
  patch.Replace(softmax->output(0), patch.Op("Transpose", {y}, {{"perm", order}}));
}

}  // namespace attnrun::opt
