// SPDX-License-Identifier: Apache-2.0
#include "ops/composite/composite.h"
#include "ops/interface/attribute_reader.h"

namespace attnrun::ops::contrib {
namespace {

enum Input { kIds, kSegmentIds, kWords, kPositions, kSegments, kGamma, kBeta, kMask, kPositionIds };

// Converts `rows` to floats: rows looked up in input i of the node, or that input itself.
using Numbers = absl::FunctionRef<Value*(Value* rows, int i)>;

// The first rows of the table, one for each token, or the rows that the ids name.
Value* PositionRows(Body& b, Value* ids) {
  if (ids != nullptr) return b.Op("Gather", {b.input(kPositions), ids});
  Value* count = b.Op("Shape", {b.input(kIds)}, {{"start", int64_t{1}}, {"end", int64_t{2}}});
  return b.Op("Slice", {b.input(kPositions), b.Ints({0}), count, b.Ints({0})});
}

// The number of ones in the mask; 0 without a mask.
Value* MaskIndex(Body& b) {
  if (b.input(kMask) == nullptr) {
    Value* count = b.Op("Shape", {b.input(kIds)}, {{"start", int64_t{0}}, {"end", int64_t{1}}});
    return b.Op("Expand", {b.Number(DataType::kInt32, 0), count});
  }
  Value* one = b.Op("Equal", {b.input(kMask), b.Number(DataType::kInt32, 1)});
  return b.Op("ReduceSum", {b.Cast(one, DataType::kInt32), b.Ints({1})},
              {{"keepdims", int64_t{0}}});
}

void CheckInputs(Body& b, Value* position_ids) {
  b.ExpectInput(kWords, "word_embedding");
  b.ExpectInput(kPositions, "position_embedding");
  b.ExpectInput(kGamma, "gamma");
  b.ExpectInput(kBeta, "beta");
  if (b.input(kSegments) != nullptr && b.input(kSegmentIds) == nullptr) {
    b.Fail("segment_embedding is given without segment_ids");
  }
  const SymInt any = SymInt::Unknown();
  Value* ids = b.input(kIds);
  b.Expect("input_ids", ids, DataType::kInt32, {any, any});
  b.Expect("segment_ids", b.input(kSegmentIds), DataType::kInt32, {any, b.Dim(ids, 1)});
  b.Expect("position_ids", position_ids, DataType::kInt32, {any, b.Dim(ids, 1)});
  b.Expect("a mask", b.input(kMask), DataType::kUndefined, {b.Dim(ids, 0), b.Dim(ids, 1)});
  const SymInt width = b.Dim(b.input(kWords), 1);
  for (const int table : {kWords, kPositions, kSegments}) {
    b.Expect("a table", b.input(table), b.TypeOf(b.input(kWords)), {any, width});
  }
  b.Expect("gamma", b.input(kGamma), DataType::kUndefined, {width});
  b.Expect("beta", b.input(kBeta), DataType::kUndefined, {width});
}

// `position_ids` is null if each token has its own position.
void Embed(Body& b, float epsilon, Value* position_ids, Numbers numbers) {
  CheckInputs(b, position_ids);
  if (b.failed()) return;
  Value* sum = numbers(b.Op("Gather", {b.input(kWords), b.input(kIds)}), kWords);
  sum = b.Op("Add", {sum, numbers(PositionRows(b, position_ids), kPositions)});
  if (b.input(kSegments) != nullptr) {
    Value* rows = b.Op("Gather", {b.input(kSegments), b.input(kSegmentIds)});
    sum = b.Op("Add", {sum, numbers(rows, kSegments)});
  }
  b.Give(b.Op("LayerNormalization",
              {sum, numbers(b.input(kGamma), kGamma), numbers(b.input(kBeta), kBeta)},
              {{"epsilon", epsilon}}));
  if (b.wants(1)) b.Give(MaskIndex(b), 1);
  b.Give(sum, 2);
}

}  // namespace

// EmbedLayerNormalization-1 (input_ids [B, S], segment_ids?, words [V, D], positions [M, D],
// segments?, gamma [D], beta [D], mask? [B, S], position_ids? [B or 1, S]) -> (y [B, S, D],
// mask_index? int32 [B], sum? [B, S, D]). All ids are int32:
//   sum = words[input_ids] + positions[position_ids] + segments[segment_ids]
//   y = LayerNormalization(sum) over the last axis
//   mask_index = the number of ones in each row of the mask; 0 without a mask
// Without position_ids token s is at position s.
Composite::Writer EmbedLayerNormalization(AttributeReader& attributes) {
  attributes.Ignore("mask_index_type");
  const float epsilon = attributes.Float("epsilon", 1e-12F);
  return [=](Body& b) {
    b.ExpectFloats({b.input(kWords), b.input(kGamma), b.input(kBeta)});
    Embed(b, epsilon, b.input(kPositionIds), [](Value* rows, int /*i*/) { return rows; });
  };
}

// QEmbedLayerNormalization-1: EmbedLayerNormalization whose tables and parameters are int8 or
// uint8, each with a scale and a zero point. Inputs: those of EmbedLayerNormalization up to the
// mask, then the scales of words, positions, segments, gamma and beta, then their zero points.
// Outputs: y and mask_index. Tables stay integers; only the rows that are looked up become floats.
Composite::Writer QEmbedLayerNormalization(AttributeReader& attributes) {
  const float epsilon = attributes.Float("epsilon", 1e-12F);
  return [=](Body& b) {
    for (int i = kMask + 1; i <= kMask + 5; ++i) {
      b.Expect("a scale", b.input(i), DataType::kFloat,
               std::vector<SymInt>(b.RankOf(b.input(i)) == 1, 1));
    }
    Embed(b, epsilon, nullptr, [&](Value* rows, int i) {
      const int scale = kMask + 1 + i - kWords;
      const int zero_point = scale + kBeta - kWords + 1;
      return b.Op("DequantizeLinear", {rows, b.input(scale), b.input(zero_point)});
    });
  };
}

}  // namespace attnrun::ops::contrib
