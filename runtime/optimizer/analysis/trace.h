// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_ANALYSIS_TRACE_H_
#define ATTNRUN_OPTIMIZER_ANALYSIS_TRACE_H_

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "graph/graph.h"
#include "optimizer/analysis/facts.h"
#include "optimizer/analysis/view.h"

namespace attnrun::opt {

// The longest chain of nodes that a trace follows. Exporters write no longer ones, and a file must
// not be able to exhaust the stack.
inline constexpr int kMaxTraceDepth = 48;
// The limit for chains that end in a Concat. They are followed through no further Concat: nested
// ones would cost time exponential in their depth.
inline constexpr int kMaxConcatDepth = 16;

// A value as a view of another one: value = scale * view(base).
struct Traced {
  Value* base = nullptr;
  View view;
  double scale = 1;
};

// The kinds of nodes that a trace follows besides those that only move elements.
struct Follow {
  // Products with and quotients by a constant of one element.
  bool factors = false;
  // Casts from 16-bit floats to float. The base is then of 16 bits, and the value is the view of
  // the base, cast to float.
  bool widening = false;
};

// Walks up from a value through the nodes that only move elements (Transpose, Reshape, Slice,
// Gather, ...) and describes the value as a view of each value on the way: first of itself, then of
// its producer's input, and so on. A rule takes the furthest base that it can read in place. Has at
// least one entry if the value's rank is known, else none.
std::vector<Traced> Trace(Value* value, Facts& facts, Follow follow = {});

// The same, given the trace `above` of the first input of the value's producer, so that the trace
// of each value of a long chain costs one step. Precondition: MovesElements(*value->producer()).
std::vector<Traced> ExtendedTrace(Value* value, absl::Span<const Traced> above, Facts& facts);

// The node's output as a view of a base, given the node's first input as `view` of that base;
// nullopt where it is no view. Precondition: MovesElements.
std::optional<View> ApplyViewNode(const Node& node, const Value& output, const View& view,
                                  Facts& facts);

// Positions `first`, `first` + `step`, ... of the last axis of another value, and all positions of
// its other axes.
struct Columns {
  Value* base = nullptr;
  int64_t first = 0;
  int64_t step = 1;
  int64_t width = 0;
};

// The value as columns of the furthest value that it has some of; nullopt if there is none.
std::optional<Columns> ColumnsOf(Value* value, Facts& facts);

// The value before the Casts behind which it stands.
Value* BeforeCasts(Value* value);
// The bools of which the value is a Cast to numbers, 1 and 0; null if it is none.
Value* ConditionOf(const Value* value, Facts& facts);
// True for a Cast of halves to floats.
bool IsWidening(const Node& node, Facts& facts);

// True if a value is computed from one of the node's outputs.
bool DependsOn(const Value& value, const Node& node);

// True if the node only moves elements of its first input. Trace follows it if the result is a
// view.
bool MovesElements(const Node& node);

// For Mul and Div by a constant of one element: the other operand, and the factor; null for other
// nodes.
Value* ScaledOperand(const Node& node, double& factor);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_ANALYSIS_TRACE_H_
