// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_INTERFACE_AXIS_RULES_H_
#define ATTNRUN_OPS_INTERFACE_AXIS_RULES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "ops/interface/axes_context.h"

// Helpers for Op::Axes. They assume runs that succeed, as infer_rules.h does.
namespace attnrun::ops {

// The rank of input i; nullopt if the input is left out or its rank is unknown.
std::optional<size_t> RankOf(const KnownInputs& inputs, int i);

// Adds to the track of axis `axis` of `to` an operand that broadcasts to `to`, aligned at the last
// axis: it has the same axis there, an axis of extent 1, or none. `dims`: the extents of input i
// from its first axis on. False if it is unknown whether the axis is broadcast.
bool AddOperand(int i, absl::Span<const SymInt> dims, absl::Span<const SymInt> to, size_t axis,
                AxisTrack& track);
// As above, for all extents of input i, which may be left out.
bool AddOperand(const KnownInputs& inputs, int i, absl::Span<const SymInt> to, size_t axis,
                AxisTrack& track);

// Adds each axis of output 0, to which the inputs broadcast: the rule of operators that have the
// trait `elementwise`.
void AddElementwiseAxes(AxesContext& context);

// Adds the axes of input 0 for which `passes` is true: they are the same axes of all outputs.
void AddSameAxes(AxesContext& context, absl::FunctionRef<bool(size_t axis)> passes);
// As AddSameAxes, for all axes but one, which counts from the end if negative.
void AddOtherAxes(AxesContext& context, int64_t axis);
// As AddSameAxes, for all axes but the last `count`.
void AddLeadingAxes(AxesContext& context, size_t count = 1);
// Adds the axes of input 0, which follow each other in output 0, without those that are `dropped`.
void AddRemainingAxes(AxesContext& context, const std::vector<bool>& dropped);
// Adds the axes that stay whole in output 0, which has the elements of input 0 in the same order.
void AddWholeAxes(AxesContext& context);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_INTERFACE_AXIS_RULES_H_
