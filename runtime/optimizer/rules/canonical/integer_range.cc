// SPDX-License-Identifier: Apache-2.0

// TensorFlow and Keras count positions, and choose bounds of slices, in floats, whose values no
// extent tells. They are computed in integers:
//
//   Range(0.0, Cast(n, float), 1.0)             ->  Cast(Range(0, n, 1), float)
//   Cast(Max(Cast(n, float), 1.0), int64)       ->  Max(n, 1)
//
// A float holds integers up to 2^24 exactly. A model of more positions fails where it adds these
// to others, of which there are n.

#include <cmath>
#include <cstdint>
#include <limits>

#include "absl/algorithm/container.h"
#include "core/elements.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/rule.h"

namespace attnrun::opt {
namespace {

// A constant of whole numbers, none of them larger than `largest`, in another type; null if it is
// none.
Value* AsIntegers(const Value* value, double largest, DataType type, Patch& patch) {
  constexpr int64_t kMaxElements = 64;
  if (value == nullptr || !value->is_constant() ||
      value->constant()->num_elements() > kMaxElements) {
    return nullptr;
  }
  const auto numbers = ToDoubles(*value->constant());
  const auto is_whole = [&](double number) {
    return std::abs(number) <= largest && number == std::floor(number);
  };
  if (!numbers.ok() || !absl::c_all_of(*numbers, is_whole)) return nullptr;
  return patch.Constant(value->name(), FromDoubles(type, value->constant()->shape(), *numbers));
}

bool IsWideInteger(DataType type) { return type == DataType::kInt64 || type == DataType::kInt32; }

bool CountInIntegers(RuleContext& context, Node* node, Patch& patch) {
  const DataType type = context.facts.TypeOf(node->output(0));
  const Node* const limit = ProducerOf(node->input(1), "Cast");
  if (limit == nullptr || (type != DataType::kFloat && type != DataType::kDouble)) return false;
  const DataType integer = context.facts.TypeOf(limit->input(0));
  if (!IsWideInteger(integer)) return false;
  constexpr double kLargest = 1 << 24;
  Value* const start = AsIntegers(node->input(0), kLargest, integer, patch);
  Value* const step = AsIntegers(node->input(2), kLargest, integer, patch);
  if (start == nullptr || step == nullptr) return false;
  Value* const range = patch.Op("Range", {start, limit->input(0), step});
  return patch.Substitute(node, patch.Cast(range, type));
}

bool ChooseInIntegers(RuleContext& context, Node* cast, Patch& patch) {
  const Node* const chosen = cast->input(0)->producer();
  const DataType type = context.facts.TypeOf(cast->output(0));
  if (!IsOp(chosen, "Max") && !IsOp(chosen, "Min")) return false;
  const DataType wide = context.facts.TypeOf(cast->input(0));
  if (wide != DataType::kFloat && wide != DataType::kDouble) return false;
  if (!IsWideInteger(type)) return false;
  for (const auto& [value, other] : ReadingsOf(chosen)) {
    const Node* const floats = ProducerOf(value, "Cast");
    if (floats == nullptr || context.facts.TypeOf(floats->input(0)) != type) continue;
    // A bound is not counted from, so it may be larger than 2^24.
    constexpr double kLargest = std::numeric_limits<int32_t>::max();
    Value* const bound = AsIntegers(other, kLargest, type, patch);
    if (bound == nullptr) continue;
    return patch.Substitute(cast, chosen->op_type(), {floats->input(0), bound});
  }
  return false;
}

}  // namespace

extern const Rule kIntegerRange = {
    .name = "integer_range",
    .summary = "Positions and bounds that are computed in floats are computed in integers",
    .starts = {{{"Range", CountInIntegers}, {"Cast", ChooseInIntegers}}}};

}  // namespace attnrun::opt
