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

// Common parts of Op::Axes. They speak of runs that succeed, as infer_rules.h does.
namespace attnrun::ops {

// The rank of input i; nullopt if the input is left out or its rank is not known.
std::optional<size_t> RankOf(const KnownInputs& inputs, int i);

// Adds to the track of axis `axis` of `to` what an operand is there that broadcasts to `to`,
// aligned at the last axis: the same axis, an axis of extent 1, or none. `dims`, extents of input i
// from its first axis on. False if it is not plain to see whether the axis is broadcast.
bool AddOperand(int i, absl::Span<const SymInt> dims, absl::Span<const SymInt> to, size_t axis,
                AxisTrack& track);
// The same for all extents of input i, which may be left out.
bool AddOperand(const KnownInputs& inputs, int i, absl::Span<const SymInt> to, size_t axis,
                AxisTrack& track);

// Each axis of output 0 comes from the inputs, which broadcast to it: the rule of operators that
// have the trait `elementwise`.
void AddElementwiseAxes(AxesContext& context);

// The axes of input 0 of which `passes` is true are the same axes of all outputs.
void AddSameAxes(AxesContext& context, absl::FunctionRef<bool(size_t axis)> passes);
// All but one, counted from the end if negative.
void AddOtherAxes(AxesContext& context, int64_t axis);
// All but the last `count`.
void AddLeadingAxes(AxesContext& context, size_t count = 1);
// The axes of input 0 follow each other in output 0 without those that are `dropped`.
void AddRemainingAxes(AxesContext& context, const std::vector<bool>& dropped);
// The elements of input 0 stay in their order in output 0, of which the whole axes are the same.
void AddWholeAxes(AxesContext& context);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_INTERFACE_AXIS_RULES_H_
