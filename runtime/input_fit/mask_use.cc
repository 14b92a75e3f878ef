// SPDX-License-Identifier: Apache-2.0
#include "input_fit/mask_use.h"

#include <optional>
#include <utility>
#include <vector>

#include "core/hash_map.h"
#include "ops/interface/registry.h"
#include "optimizer/analysis/facts.h"
#include "optimizer/analysis/node_queries.h"

namespace attnrun::fit {
namespace {

// Scores to which such a number is added have a weight of about 0.
bool IsFarBelowZero(const Value* value) {
  constexpr double kFar = -5000;
  const auto number = opt::UniformOf(value);
  return number.has_value() && *number < kFar;
}

bool IsUniform(const Value* value, double number) { return opt::UniformOf(value) == number; }

// A value made of the input; `inverted` if it is true where the input is false.
struct Derived {
  const Value* value;
  bool inverted;
};

// True if the node masks where the value is true, false if it masks elsewhere; nullopt if it does
// not mask by it.
std::optional<bool> Masks(const Node& node, const Value* value) {
  if (opt::IsOp(&node, "Where") && node.input(0) == value) {
    if (IsFarBelowZero(node.input(1))) return true;
    if (IsFarBelowZero(node.input(2))) return false;
  }
  if (opt::IsOp(&node, "Mul") && IsFarBelowZero(opt::OtherOperand(node, value))) return true;
  return std::nullopt;
}

// The node's output if it is true where the value is, or where it is not.
std::optional<Derived> Step(const Node& node, const Derived& from) {
  const Value* output = node.output(0);
  if (output == nullptr) return std::nullopt;
  const bool complements =
      opt::IsOp(&node, "Not") ||
      (opt::IsOp(&node, "Equal") && IsUniform(opt::OtherOperand(node, from.value), 0)) ||
      (opt::IsOp(&node, "Sub") && node.input(1) == from.value && IsUniform(node.input(0), 1));
  if (complements) return Derived{output, !from.inverted};
  const bool keeps = opt::IsOp(&node, "Cast") || opt::IsOp(&node, "And") ||
                     opt::IsOp(&node, "Or") ||
                     (ops::TraitsOf(node).moves_elements && node.input(0) == from.value);
  return keeps ? std::optional(Derived{output, from.inverted}) : std::nullopt;
}

}  // namespace

bool MasksWhereTrue(const Value* input) {
  std::vector<Derived> stack = {{input, false}};
  HashSet<const Value*> seen;
  while (!stack.empty()) {
    const Derived from = stack.back();
    stack.pop_back();
    if (!seen.insert(from.value).second) continue;
    for (const Node* node : from.value->consumers()) {
      const auto masks = Masks(*node, from.value);
      if (masks.has_value()) return *masks != from.inverted;
      const auto next = Step(*node, from);
      if (next.has_value()) stack.push_back(*next);
    }
  }
  return false;
}

}  // namespace attnrun::fit
