// SPDX-License-Identifier: Apache-2.0
#include "ops/contrib/embed_layer_normalization.h"
#include "ops/contrib/quantized_layers.h"
#include "optimizer/rules/contrib/expansion.h"

namespace attnrun::opt {
namespace {

using enum ops::EmbedLayerNormalization::Input;

// Converts `rows` to floats: rows looked up in input i of the node, or that input itself.
using Numbers = absl::FunctionRef<Value*(Value* rows, int i)>;

// The first rows of the table, one for each token, or the rows that the ids name.
Value* PositionRows(Expansion& e, Value* ids) {
  if (ids != nullptr) return e.Op("Gather", {e.input(kPositions), ids});
  Value* count = e.Op("Shape", {e.input(kIds)}, {{"start", int64_t{1}}, {"end", int64_t{2}}});
  return e.Op("Slice", {e.input(kPositions), e.Ints({0}), count, e.Ints({0})});
}

// The number of ones in the mask; 0 without a mask.
Value* MaskIndex(Expansion& e) {
  if (e.input(kMask) == nullptr) {
    Value* count = e.Op("Shape", {e.input(kIds)}, {{"start", int64_t{0}}, {"end", int64_t{1}}});
    return e.Op("Expand", {e.Number(DataType::kInt32, 0), count});
  }
  Value* one = e.Op("Equal", {e.input(kMask), e.Number(DataType::kInt32, 1)});
  return e.Op("ReduceSum", {e.Cast(one, DataType::kInt32), e.Ints({1})},
              {{"keepdims", int64_t{0}}});
}

// `positions` are the ids of positions, or null if each token has its own position.
bool ExpandEmbeddings(Expansion& e, Value* positions, Numbers numbers) {
  for (const int required : {kWords, kPositions, kGamma, kBeta}) {
    if (e.input(required) == nullptr) return e.Decline("it lacks a table or a parameter");
  }
  Value* sum = numbers(e.Op("Gather", {e.input(kWords), e.input(kIds)}), kWords);
  sum = e.Op("Add", {sum, numbers(PositionRows(e, positions), kPositions)});
  if (e.input(kSegments) != nullptr) {
    if (e.input(kSegmentIds) == nullptr) return e.Decline("its segments have no ids");
    Value* rows = e.Op("Gather", {e.input(kSegments), e.input(kSegmentIds)});
    sum = e.Op("Add", {sum, numbers(rows, kSegments)});
  }
  if (e.IsRead(1)) e.Give(MaskIndex(e), 1);
  if (e.IsRead(2)) e.Give(sum, 2);
  return e.Give(e.Op("LayerNormalization",
                     {sum, numbers(e.input(kGamma), kGamma), numbers(e.input(kBeta), kBeta)},
                     {{"epsilon", e.Attribute("epsilon", 1e-12F)}}));
}

}  // namespace

bool ExpandEmbedLayerNormalization(Expansion& e) {
  return ExpandEmbeddings(e, e.input(kPositionIds), [](Value* rows, int /*i*/) { return rows; });
}

// Tables stay integers; only the rows that are looked up become floats.
bool ExpandQEmbedLayerNormalization(Expansion& e) {
  return ExpandEmbeddings(e, nullptr, [&](Value* rows, int i) {
    using Q = ops::QEmbedLayerNormalization;
    return e.Op("DequantizeLinear", {rows, e.input(Q::ScaleOf(i)), e.input(Q::ZeroPointOf(i))});
  });
}

}  // namespace attnrun::opt
