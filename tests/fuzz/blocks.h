// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_FUZZ_BLOCKS_H_
#define ATTNRUN_TESTS_FUZZ_BLOCKS_H_

#include "fuzz/graph_maker.h"

// Pieces of transformers in random spellings. Each takes a value, adds nodes and returns the
// result, or null once the step has failed.
namespace attnrun::testing {

// X·W, with or without a bias: MatMul, Gemm, Einsum or a pointwise convolution.
Value* AddProjection(GraphMaker& maker, Value* x, int64_t columns);
// Several projections of one value, combined or not.
Value* AddSiblings(GraphMaker& maker, Value* x);
// Multi-head attention of x [B S D] to itself or to another value, with projections or without.
Value* AddAttention(GraphMaker& maker, Value* x);
// Head by head, with the probabilities turned, or as the standard's operator.
Value* AddOtherAttention(GraphMaker& maker, Value* x);

// Layer and RMS normalization, over the last axis or nearly so.
Value* AddNormalization(GraphMaker& maker, Value* x);
// GELU, SiLU and others, written out or not.
Value* AddActivation(GraphMaker& maker, Value* x);
// Softmax along the last axis or nearly so.
Value* AddSoftmax(GraphMaker& maker, Value* x);
// Rotary embedding of x [B N S H].
Value* AddRotary(GraphMaker& maker, Value* x);

// One operator that selects or moves elements.
Value* AddView(GraphMaker& maker, Value* x);
// A Reshape to extents some of which are computed.
Value* AddDynamicReshape(GraphMaker& maker, Value* x);

// One elementwise or reducing operator, with another value or a constant.
Value* AddArithmetic(GraphMaker& maker, Value* x);
// Casts there and back.
Value* AddCasts(GraphMaker& maker, Value* x);
// A choice by comparison.
Value* AddWhere(GraphMaker& maker, Value* x);
// What exporters write with computed indices and extents: floor division, masked fills, slices that
// are assigned, rows in whole blocks.
Value* AddIndexed(GraphMaker& maker, Value* x);

// A graph of a few of these.
Trial RandomTrial(uint32_t seed);

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_FUZZ_BLOCKS_H_
