// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_ANALYSIS_TRACE_H_
#define ATTNRUN_OPTIMIZER_ANALYSIS_TRACE_H_

#include <optional>
#include <vector>

#include "graph/graph.h"
#include "optimizer/analysis/facts.h"
#include "optimizer/analysis/view.h"

namespace attnrun::opt {

// A value as a view of another one: value = scale * view(base).
struct Traced {
  Value* base = nullptr;
  View view;
  double scale = 1;
};

// The nodes that a trace follows besides those that only move elements.
struct Follow {
  // Products with and quotients by a constant of one element.
  bool factors = false;
  // Casts of 16-bit floats to float: the base is then of 16 bits, and the value the view of it,
  // cast.
  bool widening = false;
};

// The value as a view of what it was made from by moving elements about, nearest first: itself, its
// producer's input and so on. At least one entry where the value's rank is known, else none.
std::vector<Traced> Trace(Value* value, Facts& facts, Follow follow = {});

// The node's output as a view of what its first input is `view` of; nullopt where it is none.
// Precondition: IsViewNode.
std::optional<View> ApplyViewNode(const Node& node, const Value& output, const View& view,
                                  Facts& facts);

// True if the node only moves elements, so that Trace follows it.
bool IsViewNode(const Node& node);

// For Mul and Div by a constant of one element: the operand and the factor; null where it is none.
Value* ScaledOperand(const Node& node, double& factor);

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_ANALYSIS_TRACE_H_
