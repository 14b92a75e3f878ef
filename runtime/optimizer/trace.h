#ifndef ATTNRUN_OPTIMIZER_TRACE_H_
#define ATTNRUN_OPTIMIZER_TRACE_H_

#include <optional>
#include <vector>

#include "graph/graph.h"
#include "optimizer/facts.h"
#include "optimizer/view.h"

namespace attnrun {

// A value as a view of another one: value = scale * view(base).
struct Traced {
  Value* base = nullptr;
  View view;
  double scale = 1;
};

enum class Scalars {
  // Products with a constant end the chain.
  kStop,
  // Products with and quotients by a constant of one element count as a part of the chain.
  kFollow,
};

// The value as a view of what it was made from by moving elements about, nearest first: itself, its
// producer's input and so on. At least one entry where the value's rank is known, else none.
std::vector<Traced> Trace(Value* value, Facts& facts, Scalars scalars = Scalars::kStop);

// The node's output as a view of what its first input is `view` of; nullopt where it is none.
// Precondition: IsViewNode.
std::optional<View> ApplyViewNode(const Node& node, const Value& output, const View& view,
                                  Facts& facts);

// Whether the node only moves elements about: one of those that Trace follows.
bool IsViewNode(const Node& node);

// For Mul and Div by a constant of one element: the operand and the factor; null where it is none.
Value* ScaledOperand(const Node& node, double& factor);

}  // namespace attnrun

#endif  // ATTNRUN_OPTIMIZER_TRACE_H_
