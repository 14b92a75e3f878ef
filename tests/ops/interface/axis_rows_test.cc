// SPDX-License-Identifier: Apache-2.0
// The tracks of rules whose extents are symbols: as many as the symbols allow, and none
// where an axis may be of extent 1 and so be broadcast.
#include <gtest/gtest.h>

#include "support/axes_tester.h"
#include "support/infer_tester.h"

namespace attnrun::testing {
namespace {

const SymInt kUnknown = SymInt::Unknown();

TEST(AxisRowsTest, Elementwise) {
  ExpectTracks({
      {{"Sin", {Floats({kBatch, kUnknown})}}, "0.0 > 0.0; 0.1 > 0.1"},
      {{"Add", {Floats({kBatch, kSeq, 8}), Floats({8})}}, "0.0 > 0.0; 0.1 > 0.1; 0.2 1.0 > 0.2"},
      {{"Add", {Floats({kBatch, kSeq, 8}), Floats({kBatch, 1, 8})}},
       "0.0 1.0 > 0.0; 0.1 1.1=1 > 0.1; 0.2 1.2 > 0.2"},
      // Which of them is broadcast is not known.
      {{"Add", {Floats({kBatch, kSeq}), Floats({kPast, kSeq})}}, "0.1 1.1 > 0.1"},
      // The second operand has the extent 8 or 1.
      {{"Mul", {Floats({kBatch, 8}), Floats({kSeq})}}, "0.0 > 0.0"},
      {{"Where", {Floats({kBatch, 1, 1, kSeq}), Floats({kBatch, 4, kSeq, kSeq}), Floats({})}},
       "0.0 1.0 > 0.0; 1.1 0.1=1 > 0.1; 1.2 0.2=1 > 0.2; 0.3 1.3 > 0.3"},
      {{"Add", {Floats({1, 8}), Floats({8})}}, "0.0 > 0.0; 0.1 1.0 > 0.1"},
      {{"Neg", {Facts(DataType::kFloat, std::nullopt)}}, ""},
  });
}

TEST(AxisRowsTest, Products) {
  const AttributeMap turned = {{"transA", int64_t{1}}};
  ExpectTracks({
      {{"MatMul", {Floats({kBatch, 12, kSeq, 64}), Floats({kBatch, 12, 64, kPast})}},
       "0.0 1.0 > 0.0; 0.1 1.1 > 0.1; 0.2 > 0.2; 1.3 > 0.3"},
      {{"MatMul", {Floats({kBatch, kSeq, 768}), Floats({768, 64})}},
       "0.0 > 0.0; 0.1 > 0.1; 1.1 > 0.2"},
      {{"MatMul", {Floats({kBatch, kSeq, 8}), Floats({1, 8, 4})}},
       "0.0 1.0=1 > 0.0; 0.1 > 0.1; 1.2 > 0.2"},
      {{"MatMul", {Floats({kBatch, kSeq, 8}), Floats({kPast, 8, 4})}}, "0.1 > 0.1; 1.2 > 0.2"},
      {{"MatMul", {Floats({8}), Floats({kBatch, 8, 4})}}, "1.0 > 0.0; 1.2 > 0.1"},
      {{"Gemm", {Floats({8, kBatch}), Floats({8, 4}), Floats({4})}, turned},
       "0.1 > 0.0; 1.1 2.0 > 0.1"},
      {{"Einsum",
        {Floats({kBatch, kSeq, 4, 8}), Floats({kBatch, kPast, 4, 8})},
        {{"equation", std::string("bqhd,bkhd->bhqk")}}},
       "0.0 1.0 > 0.0; 0.2 1.2 > 0.1; 0.1 > 0.2; 1.1 > 0.3"},
      {{"attnrun::Linear", {Floats({kBatch, kSeq, 8}), Floats({8, 4}), Floats({4})}},
       "0.0 > 0.0; 0.1 > 0.1; 1.1 2.0 > 0.2"},
      {{"attnrun::Conv",
        {Floats({kBatch, 9, kSeq, 8}), Floats({4, 8, 3, 3}), Floats({4}),
         Floats({kBatch, 7, -2 + kSeq, 4})}},
       "0.0 3.0 > 0.0; 1.0 2.0 3.3 > 0.3"},
  });
}

TEST(AxisRowsTest, Views) {
  const AttributeMap perm = {{"perm", std::vector<int64_t>{0, 2, 1, 3}}};
  ExpectTracks({
      {{"Transpose", {Floats({kBatch, kSeq, 4, 8})}, perm},
       "0.0 > 0.0; 0.2 > 0.1; 0.1 > 0.2; 0.3 > 0.3"},
      {{"Reshape", {Floats({kBatch, kSeq, 32}), Numbers({kBatch, kSeq, 4, 8})}},
       "0.0 > 0.0; 0.1 > 0.1"},
      {{"Reshape", {Floats({kBatch, kSeq, 8}), Numbers({kBatch * kSeq, 8})}}, "0.2 > 0.1"},
      {{"Reshape", {Floats({kBatch, kSeq, 4, 8}), Numbers({kBatch, kSeq * 4, 8})}},
       "0.0 > 0.0; 0.3 > 0.2"},
      {{"Unsqueeze", {Floats({kBatch, kSeq}), Numbers({1, 3})}}, "0.0 > 0.0; 0.1 > 0.2"},
      {{"Squeeze", {Floats({kBatch, 1, kSeq}), Numbers({1})}}, "0.0 > 0.0; 0.2 > 0.1"},
      {{"Expand", {Floats({kBatch, 1, kSeq}), Numbers({kBatch, 4, kSeq})}}, "0.0 > 0.0; 0.2 > 0.2"},
      {{"Expand", {Floats({1, kSeq}), Numbers({kBatch, 1, 1})}}, "0.0 > 0.1; 0.1 > 0.2"},
      {{"Slice", {Floats({kBatch, kSeq, 8}), Numbers({0}), Numbers({4}), Numbers({2})}},
       "0.0 > 0.0; 0.1 > 0.1"},
      // All of the axis.
      {{"Slice", {Floats({kBatch, kSeq}), Numbers({0}), Numbers({kSeq}), Numbers({1})}},
       "0.0 > 0.0; 0.1 > 0.1"},
      {{"Gather", {Floats({100, 8}), Facts(DataType::kInt64, Dims{kBatch, kSeq})}},
       "1.0 > 0.0; 1.1 > 0.1; 0.1 > 0.2"},
  });
}

TEST(AxisRowsTest, Layers) {
  const AttributeMap keep = {{"keepdims", int64_t{0}}};
  ExpectTracks({
      {{"Softmax", {Floats({kBatch, 4, kSeq, kUnknown})}}, "0.0 > 0.0; 0.1 > 0.1; 0.2 > 0.2"},
      {{"LayerNormalization", {Floats({kBatch, kSeq, 8}), Floats({8}), Floats({8})}},
       "0.0 > 0.0; 0.1 > 0.1"},
      {{"ReduceMean", {Floats({kBatch, kSeq, 8}), Numbers({1})}, keep}, "0.0 > 0.0; 0.2 > 0.1"},
      {{"QuantizeLinear", {Floats({kBatch, 8}), Floats({kSeq})}}, "0.0 > 0.0"},
      {{"QuantizeLinear", {Floats({kBatch, 8}), Floats({8})}}, "0.0 > 0.0; 0.1 1.0 > 0.1"},
      {{"attnrun::Attention",
        {Floats({kBatch, 4, kSeq, 8}), Floats({kBatch, 4, kPast, 8}), Floats({kBatch, 4, kPast, 8}),
         Floats({1, 4, kSeq, kPast})}},
       "0.0 1.0 2.0 3.0=1 > 0.0; 0.2 3.2 > 0.1"},
  });
}

}  // namespace
}  // namespace attnrun::testing
