// SPDX-License-Identifier: Apache-2.0

// A convolution of floats that come from DequantizeLinear is computed in integers, which are exact,
// and scaled:
//
//   x  x_scale  x_zero   w  w_scale  w_zero        x  w  x_zero  w_zero
//    \    |     /         \    |     /              \  \   |    /
//   DequantizeLinear   DequantizeLinear            ConvInteger    x_scale  w_scale
//              \         /                             |              \     /
//               \       /   b          ->             Cast              Mul
//                 Conv                                   \             /
//                  |                                           Mul        b
//                  y                                              \      /
//                                                                    Add
//                                                                     |
//                                                                     y
//
// The padding is 0 in floats, and x_zero in integers.

#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/quantization/qdq_operands.h"

namespace attnrun::opt {
namespace {

// A number for each channel, [M], as [M, 1, ..], so that it broadcasts to [N, M, ..]; one number as
// it is.
Value* PerChannel(Patch& patch, Value* numbers, size_t rank) {
  if (numbers->is_constant() && numbers->constant()->num_elements() == 1) return numbers;
  std::vector<int64_t> axes;
  for (size_t axis = 1; axis + 1 < rank; ++axis) axes.push_back(static_cast<int64_t>(axis));
  return patch.Op("Unsqueeze", {numbers, patch.Ints(axes)});
}

bool ConvolveIntegers(RuleContext& context, Node* node, Patch& patch) {
  const auto conv = ReadQdqProduct(*node, context.facts);
  if (!conv.has_value()) return false;
  const LinearWeightParts& weight = conv->weight;
  const size_t rank = weight.values->constant()->rank();
  patch.Supersede({node});
  Value* sums =
      patch.Op("ConvInteger",
               {Arranged(patch, conv->x), weight.values, conv->x.zero_point, weight.zero_points},
               node->attributes(), node->name());
  Value* floats = patch.Cast(sums, DataType::kFloat);
  Value* scale = patch.Op("Mul", {conv->x.scale, PerChannel(patch, weight.scales, rank)});
  Value* y = patch.Op("Mul", {floats, scale});
  if (Value* bias = node->input(2); bias != nullptr) {
    y = patch.Op("Add", {y, PerChannel(patch, bias, rank)});
  }
  return patch.Replace(node->output(0), y);
}

}  // namespace

extern const Rule kIntegerConvolution = {
    .name = "integer_convolution",
    .summary = "A convolution of dequantized integers is computed in integers",
    .anchors = {"Conv"},
    .propose = ConvolveIntegers};

}  // namespace attnrun::opt
