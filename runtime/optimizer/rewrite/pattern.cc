// SPDX-License-Identifier: Apache-2.0
#include "optimizer/rewrite/pattern.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/analysis/reduction.h"

namespace attnrun::opt {
namespace {

bool MatchInputs(const Node& node, const Patterns& patterns, bool swapped, Facts& facts,
                 MatchedNodes& nodes) {
  for (size_t i = 0; i < patterns.size(); ++i) {
    if (patterns[i].is_rest()) return true;
    if (!patterns[i].Match(node.input(swapped ? 1 - i : i), facts, nodes)) return false;
  }
  return std::all_of(node.inputs().begin() + std::ssize(patterns), node.inputs().end(),
                     [](const Value* input) { return input == nullptr; });
}

}  // namespace

bool Pattern::Match(Value* value, Facts& facts, MatchedNodes& nodes) const {
  if (value == nullptr) return false;
  const size_t before = nodes.size();
  if (matcher_->Match(value, facts, nodes)) return true;
  nodes.resize(before);
  return false;
}

Pattern Is(Value** capture) {
  return Pattern([=](Value* value, Facts&, MatchedNodes&) {
    *capture = value;
    return true;
  });
}

Pattern Same(Value* const* captured) {
  return Pattern([=](Value* value, Facts&, MatchedNodes&) { return value == *captured; });
}

Pattern Scalar(double* capture) {
  return Pattern([=](Value* value, Facts&, MatchedNodes&) {
    const auto scalar = ScalarOf(value);
    if (scalar.has_value()) *capture = *scalar;
    return scalar.has_value();
  });
}

Pattern Number(double number, double relative) {
  return Pattern([=](Value* value, Facts&, MatchedNodes&) {
    const auto scalar = ScalarOf(value);
    return scalar.has_value() && std::abs(*scalar - number) <= relative * std::abs(number);
  });
}

Pattern Uniform(double number) {
  return Pattern([=](Value* value, Facts&, MatchedNodes&) { return UniformOf(value) == number; });
}

Pattern Constant(Value** capture) {
  return Pattern([=](Value* value, Facts&, MatchedNodes&) {
    *capture = value;
    return value->is_constant();
  });
}

Pattern Op(absl::string_view op_type, Patterns inputs, Node** capture) {
  return Pattern([op_type, inputs = std::move(inputs), capture](Value* value, Facts& facts,
                                                                MatchedNodes& nodes) {
    Node* node = value->producer();
    if (node == nullptr || value->producer_index() != 0) return false;
    if (node->op_type() != op_type || !node->domain().empty()) return false;
    nodes.push_back(node);
    if (capture != nullptr) *capture = node;
    const size_t with_node = nodes.size();
    if (MatchInputs(*node, inputs, false, facts, nodes)) return true;
    nodes.resize(with_node);
    return inputs.size() == 2 && ReadingsOf(node).size() == 2 &&
           MatchInputs(*node, inputs, true, facts, nodes);
  });
}

Pattern Rest() { return {}; }

Pattern Reduction(absl::string_view op_type, int64_t* axis, Pattern inner) {
  return Pattern(
      [op_type, axis, inner = std::move(inner)](Value* value, Facts& facts, MatchedNodes& nodes) {
        const auto reduction = FindReduction(value, op_type, facts);
        if (!reduction.has_value()) return false;
        *axis = reduction->axis;
        nodes.insert(nodes.end(), reduction->nodes.begin(), reduction->nodes.end());
        return inner.Match(reduction->nodes.back()->input(0), facts, nodes);
      });
}

Pattern OfRow(absl::string_view op_type, Pattern inner) {
  return Pattern(
      [op_type, inner = std::move(inner)](Value* value, Facts& facts, MatchedNodes& nodes) {
        int64_t axis = 0;
        return Reduction(op_type, &axis, inner).Match(value, facts, nodes) && axis == -1;
      });
}

Pattern OneOf(Patterns alternatives) {
  return Pattern(
      [alternatives = std::move(alternatives)](Value* value, Facts& facts, MatchedNodes& nodes) {
        return absl::c_any_of(alternatives, [&](const Pattern& alternative) {
          return alternative.Match(value, facts, nodes);
        });
      });
}

Pattern MaybeCast(const Pattern& inner) { return OneOf({Op("Cast", {inner}), inner}); }

Pattern Keep(Value** capture, Pattern inner) {
  return Pattern(
      [capture, inner = std::move(inner)](Value* value, Facts& facts, MatchedNodes& nodes) {
        *capture = value;
        return inner.Match(value, facts, nodes);
      });
}

}  // namespace attnrun::opt
