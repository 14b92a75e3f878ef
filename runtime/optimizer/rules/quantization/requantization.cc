// SPDX-License-Identifier: Apache-2.0

// What is quantized again as it was before comes back as it was, wherever it has been moved:
//
//           q                                 q
//           |                                 |
//   DequantizeLinear (s, z)                Reshape
//           |                      ->
//        Reshape
//           |
//    QuantizeLinear (s, z)
//
// since (q - z) * s / s, rounded twice, is less than a half away from q - z.

#include <limits>

#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/quantization/quantized_operands.h"

namespace attnrun::opt {
namespace {

bool AreEqualNumbers(const Value* a, const Value* b) {
  if (a == b) return true;
  if (a == nullptr || b == nullptr) return false;
  const auto number = ScalarOf(a);
  return number.has_value() && number == ScalarOf(b);
}

// True if products of a byte and the scale neither vanish nor overflow.
bool IsHarmless(const Value* scale) {
  using Limits = std::numeric_limits<float>;
  const auto number = ScalarOf(scale);
  return number.has_value() && *number >= Limits::min() && *number <= Limits::max() / 256;
}

bool RemoveRequantization(RuleContext& context, Node* node, Patch& patch) {
  Facts& facts = context.facts;
  if (node->input(0) == nullptr) return false;
  const auto before = ReadQuantizedOperand(node->input(0), facts);
  if (!before.has_value() || !IsHarmless(before->scale)) return false;
  // Divided in a narrower type, if that is asked for, more is rounded.
  const auto precision = AttributeOr<int64_t>(*node, "precision", 0);
  if (precision != 0 && precision != static_cast<int64_t>(DataType::kFloat)) return false;
  if (facts.TypeOf(node->input(1)) != DataType::kFloat ||
      facts.TypeOf(node->output(0)) != facts.TypeOf(before->value)) {
    return false;
  }
  if (!AreEqualNumbers(node->input(1), before->scale) ||
      !AreEqualNumbers(node->input(2), before->zero_point)) {
    return false;
  }
  patch.Supersede({node});
  patch.Replace(node->output(0), Arranged(patch, *before));
  return true;
}

}  // namespace

extern const Rule kRequantization = {
    .name = "requantization",
    .summary = "QuantizeLinear of a value that was just dequantized by the same scale goes",
    .anchors = {"QuantizeLinear"},
    .propose = RemoveRequantization};

}  // namespace attnrun::opt
