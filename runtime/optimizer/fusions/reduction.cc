#include "optimizer/fusions/reduction.h"

#include "optimizer/node_queries.h"

namespace attnrun {

std::optional<int64_t> ReducedAxis(const Node& node, absl::string_view op_type, Facts& facts) {
  if (!node.domain().empty() || node.op_type() != op_type) return std::nullopt;
  if (AttributeOr<int64_t>(node, "keepdims", 1) == 0) return std::nullopt;
  const auto axes = KnownInts(node, "axes", 1, facts);
  if (!axes.has_value() || axes->size() != 1) return std::nullopt;
  const int64_t axis = (*axes)[0];
  const int rank = facts.RankOf(node.input(0));
  if (axis == -1 || axis == rank - 1) return -1;
  if (axis < 0 && rank < 0) return std::nullopt;
  return axis < 0 ? axis + rank : axis;
}

}  // namespace attnrun
