// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_FUZZ_BLOCKS_H_
#define ATTNRUN_TESTS_FUZZ_BLOCKS_H_

#include "fuzz/graph_maker.h"

// Pieces of transformers in random spellings. Each function takes a value, adds nodes and returns
// the result, or null once the step has failed.
namespace attnrun::testing {

// X·W with or without a bias, as MatMul, Gemm, Einsum or a pointwise convolution.
Value* AddProjection(GraphMaker& maker, Value* x, int64_t columns);
// Several projections of one value, packed into one product or separate.
Value* AddSiblings(GraphMaker& maker, Value* x);
// Multi-head attention of x [B S D] to itself or to another value, with or without projections.
Value* AddAttention(GraphMaker& maker, Value* x);
// Attention head by head, with transposed probabilities, or as the standard's operator.
Value* AddOtherAttention(GraphMaker& maker, Value* x);

// Layer or RMS normalization over the last axis; rarely over a wrong one.
Value* AddNormalization(GraphMaker& maker, Value* x);
// GELU, SiLU and other activations, as one operator or written out.
Value* AddActivation(GraphMaker& maker, Value* x);
// Softmax along the last axis; rarely along a wrong one.
Value* AddSoftmax(GraphMaker& maker, Value* x);
// Rotary embedding of x [B N S H].
Value* AddRotary(GraphMaker& maker, Value* x);

// One operator that selects or moves elements.
Value* AddView(GraphMaker& maker, Value* x);
// A Reshape whose target extents are partly computed.
Value* AddDynamicReshape(GraphMaker& maker, Value* x);

// One elementwise or reducing operator, with another value or a constant.
Value* AddArithmetic(GraphMaker& maker, Value* x);
// Casts to another type and back.
Value* AddCasts(GraphMaker& maker, Value* x);
// A Where with a comparison as its condition.
Value* AddWhere(GraphMaker& maker, Value* x);
// Computed indices and extents as exporters write them: floor division, masked fills, slice
// assignments, rows padded to whole blocks.
Value* AddIndexed(GraphMaker& maker, Value* x);

// A piece of a convolution stack on an image [N C H W].
Value* AddImageBlock(GraphMaker& maker, Value* x);

// A graph of a few of these pieces. `chosen`: see Dice.
Trial RandomTrial(uint32_t seed, absl::Span<const uint8_t> chosen = {});

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_FUZZ_BLOCKS_H_
