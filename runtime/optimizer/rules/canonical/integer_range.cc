// SPDX-License-Identifier: Apache-2.0

// Keras counts positions in floats, whose number no extent tells. They are counted in integers, and
// cast:
//
//   Range(0.0, Cast(n, float), 1.0)  ->  Cast(Range(0, n, 1), float)
//
// A float holds integers up to 2^24 exactly. A model of more positions fails where it adds these
// to others, of which there are n.

#include <cmath>
#include <optional>

#include "core/elements.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {
namespace {

// A constant whole number as one of another type; null if it is none.
Value* AsInteger(const Value* value, DataType type, Patch& patch) {
  constexpr double kLargest = 1 << 24;
  const std::optional<double> number = ScalarOf(value);
  if (!number.has_value() || !(std::abs(*number) <= kLargest)) return nullptr;
  if (*number != std::floor(*number)) return nullptr;
  return patch.Constant(value->name(), FromDoubles(type, {}, {*number}));
}

bool CountInIntegers(RuleContext& context, Node* node, Patch& patch) {
  const DataType type = context.facts.TypeOf(node->output(0));
  const Node* const limit = ProducerOf(node->input(1), "Cast");
  if (limit == nullptr || (type != DataType::kFloat && type != DataType::kDouble)) return false;
  const DataType integer = context.facts.TypeOf(limit->input(0));
  if (integer != DataType::kInt64 && integer != DataType::kInt32) return false;
  Value* const start = AsInteger(node->input(0), integer, patch);
  Value* const step = AsInteger(node->input(2), integer, patch);
  if (start == nullptr || step == nullptr) return false;
  Value* const range = patch.Op("Range", {start, limit->input(0), step});
  return patch.Substitute(node, "Cast", {range}, {{"to", static_cast<int64_t>(type)}});
}

}  // namespace

extern const Rule kIntegerRange = {.name = "integer_range",
                                   .summary = "Positions counted in floats are counted in integers",
                                   .anchors = {"Range"},
                                   .propose = CountInIntegers};

}  // namespace attnrun::opt
