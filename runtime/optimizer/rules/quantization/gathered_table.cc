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
//
// With a scale for each row, those of the rows are looked up as well:
//
//        table  ids    zero  ids    scale  ids
//            \  /         \  /          \  /
//           Gather      Gather        Gather
//              |           |             |
//            Cast        Cast        Unsqueeze
//               \       /               /
//                  Sub                /
//                      \            /
//                           Mul

#include <numeric>

#include "optimizer/analysis/node_queries.h"
#include "optimizer/rewrite/rule.h"
#include "optimizer/rules/quantization/qdq_operands.h"

namespace attnrun::opt {
namespace {

// Looks up `list`, which has a number for each row of the table, and lays it along the axes that
// count rows.
Value* GatherList(Patch& patch, const Node& gather, Value* list, int64_t axes_behind) {
  Value* const rows = patch.Again(gather, {list, gather.input(1)}, {{"axis", int64_t{0}}})[0];
  if (axes_behind == 0) return rows;
  std::vector<int64_t> axes(axes_behind);
  std::iota(axes.begin(), axes.end(), -axes_behind);
  return patch.Op("Unsqueeze", {rows, patch.Ints(axes)});
}

bool GatherScales(Node* node, Patch& patch) {
  const Node& dequantize = *node->input(0)->producer();
  Value* const table = dequantize.input(0);
  const int rank = table->constant()->rank();
  const int64_t behind = rank - 1 - AxisOf(*node, rank).value_or(0);
  Value* const rows = patch.Again(*node, {table, node->input(1)}, node->attributes())[0];
  Value* y = patch.Cast(rows, DataType::kFloat);
  if (dequantize.input(2) != nullptr) {
    Value* const zero = GatherList(patch, *node, dequantize.input(2), behind);
    y = patch.Op("Sub", {y, patch.Cast(zero, DataType::kFloat)});
  }
  Value* const scale = GatherList(patch, *node, dequantize.input(1), behind);
  return patch.Substitute(node, patch.Op("Mul", {y, scale}));
}

bool GatherIntegers(RuleContext& context, Node* node, Patch& patch) {
  if (!ReadsDequantizedTable(*node, context.facts)) return false;
  const Node& dequantize = *node->input(0)->producer();
  if (dequantize.input(1)->constant()->num_elements() > 1) {
    return GatherScales(node, patch);
  }
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
