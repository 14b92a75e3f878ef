// SPDX-License-Identifier: Apache-2.0

// Models with DequantizeLinear convert a whole table of embeddings before they look up rows. The
// rows that are looked up are converted instead, and the table stays bytes:
//
//   table  scale  zero
//      \     |     /                    table  ids
//     DequantizeLinear   ids               \   /
//              \         /        ->      Gather   scale  zero
//               Gather                       \       |     /
//                  |                         DequantizeLinear
//                  y                                 |
//                                                    y

#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/quantization/qdq_operands.h"

namespace attnrun::opt {
namespace {

bool GatherIntegers(RuleContext& context, Node* node, Patch& patch) {
  if (!ReadsDequantizedTable(*node, context.facts)) return false;
  const Node& dequantize = *node->input(0)->producer();
  std::vector<Value*> gathered = node->inputs();
  gathered[0] = dequantize.input(0);
  std::vector<Value*> inputs = dequantize.inputs();
  patch.Supersede({node});
  inputs[0] = patch.Again(*node, gathered, node->attributes())[0];
  return patch.Replace(node->output(0), patch.Again(dequantize, inputs, {})[0]);
}

}  // namespace

extern const Rule kGatheredTable = {
    .name = "gathered_table",
    .summary = "The rows of a table of integers are converted to floats after they are looked up",
    .anchors = {"Gather"},
    .propose = GatherIntegers};

}  // namespace attnrun::opt
