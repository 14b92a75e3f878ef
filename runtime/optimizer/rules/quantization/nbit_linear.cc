// SPDX-License-Identifier: Apache-2.0

// ONNX Runtime's MatMulNBits multiplies by weights that are stored as codes of a few bits. Where
// the codes are constant, the rule `linear` makes it a Linear, with its bias:
//
//   x   codes  scales  zero points           x  codes  b  scales  zero points
//    \    |       |       /                    \    \   |    |       /
//   com.microsoft.MatMulNBits         ->        Linear {format = "nbit"}
//             |    b                                     |
//             Add                                        y
//              |
//              y

#include "ops/quantization/nbit/matmul_nbits.h"
#include "optimizer/analysis/node_queries.h"
#include "optimizer/rules/linear/linear_match.h"

namespace attnrun::opt {
namespace {

using N = ops::MatMulNBits;

}  // namespace

bool ReadNBitProduct(RuleContext& /*context*/, const Node& node, Patch& /*patch*/,
                     LinearMatch& match) {
  for (const int i : {N::kCodes, N::kScales, N::kZeroPoints, N::kGroups}) {
    if (!IsConstantOrLeftOut(node.input(i))) return false;
  }
  ops::AttributeReader attributes(node, node.opset());
  const N product(attributes);
  const absl::Status fits = product.CheckWeight(
      [&](int i) { return node.input(i) == nullptr ? Tensor() : *node.input(i)->constant(); });
  if (!attributes.Finish().ok() || !fits.ok()) return false;
  LinearParts& parts = match.parts;
  parts.format = ops::LinearFormat::kNBit;
  parts.blocks = {product.k(), product.bits(), product.block_size()};
  parts.x = node.input(N::kA);
  parts.weights = {
      {{node.input(N::kCodes), node.input(N::kScales), node.input(N::kZeroPoints)}, true}};
  match.term = node.input(N::kBias);
  return match.term == nullptr || IsBias(match.term, product.n(), 2);
}

}  // namespace attnrun::opt
