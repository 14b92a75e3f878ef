// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_ANALYSIS_REDUCTION_H_
#define ATTNRUN_OPTIMIZER_ANALYSIS_REDUCTION_H_

#include <optional>
#include <vector>

#include "optimizer/analysis/facts.h"

namespace attnrun::opt {

// The only axis that the attribute or input `axes` names, of `rank` axes, counted from the front;
// nullopt if there are others or if it is not known.
std::optional<int> OnlyAxis(const Node& node, int rank, Facts& facts);

// Marks the axes of its input that a reduction takes; nullopt if it names none, which means all, or
// if they are not known.
std::optional<std::vector<bool>> ReducedAxes(const Node& node, Facts& facts);

// The one axis that a reduction such as ReduceMean takes, where it keeps that axis with extent 1:
// -1 for the last, others counted from the front. nullopt for another operator, for several axes or
// all, and where the axis is dropped.
std::optional<int64_t> ReducedAxis(const Node& node, absl::string_view op_type, Facts& facts);

// The axis of a Softmax or LogSoftmax, in the same form; nullopt where several axes count as one.
std::optional<int64_t> SoftmaxAxis(const Node& softmax, Facts& facts);

// A reduction over one axis that stays with extent 1, or that is the last and is put back.
struct AxisReduction {
  const Value* reduced() const { return nodes.back()->input(0); }
  // The reduction, and behind it the Unsqueeze that puts the axis back, if any.
  std::vector<Node*> nodes;
  int64_t axis = -1;
};

// The reduction by this operator that computes `value`; nullopt if there is none.
std::optional<AxisReduction> FindReduction(const Value* value, absl::string_view op_type,
                                           Facts& facts);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_ANALYSIS_REDUCTION_H_
