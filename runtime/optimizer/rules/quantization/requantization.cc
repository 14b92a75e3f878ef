// SPDX-License-Identifier: Apache-2.0

// Exporters of quantized models put a DequantizeLinear and a QuantizeLinear around nodes that only
// move elements. With the same scale and zero point the two cancel, and the integers are moved
// instead:
//
//           q                                 q
//           |                                 |
//   DequantizeLinear (s, z)                Reshape
//           |                      ->
//        Reshape
//           |
//    QuantizeLinear (s, z)
//
// This is exact: (q - z) * s / s, rounded twice, differs from q - z by less than a half.

#include <limits>

#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/quantization/qdq_operands.h"

namespace attnrun::opt {
namespace {

bool AreEqualNumbers(const Value* a, const Value* b) {
  if (a == b) return true;
  if (a == nullptr || b == nullptr) return false;
  const auto number = ScalarOf(a);
  return number.has_value() && number == ScalarOf(b);
}

// True if products of a byte and the scale neither underflow nor overflow.
bool IsHarmless(const Value* scale) {
  using Limits = std::numeric_limits<float>;
  const auto number = ScalarOf(scale);
  return number.has_value() && *number >= Limits::min() && *number <= Limits::max() / 256;
}

bool RemoveRequantization(RuleContext& context, Node* node, Patch& patch) {
  Facts& facts = context.facts;
  if (node->input(0) == nullptr) return false;
  const auto before = ReadQdqOperand(node->input(0), facts);
  if (!before.has_value() || !IsHarmless(before->scale)) return false;
  // A division in a narrower type, if the attribute asks for it, rounds more.
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
  return patch.Substitute(node, Arranged(patch, *before));
}

}  // namespace

extern const Rule kRequantization = {
    .name = "requantization",
    .summary = "A QuantizeLinear that undoes a DequantizeLinear of the same scale is removed",
    .anchors = {"QuantizeLinear"},
    .propose = RemoveRequantization};

}  // namespace attnrun::opt
