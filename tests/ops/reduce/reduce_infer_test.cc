// SPDX-License-Identifier: Apache-2.0
// The facts that reductions infer about their outputs before a run.
#include "support/infer_tester.h"

namespace attnrun::testing {
namespace {

using Ints = std::vector<int64_t>;

TEST(ReduceInferTest, Shapes) {
  const ops::ValueFacts x = Floats({kBatch, kSeq, 768});
  const ops::ValueFacts unknown = Facts(DataType::kFloat, std::nullopt);
  const ops::ValueFacts some = Facts(DataType::kInt64, Dims{1});
  const AttributeMap drop = {{"keepdims", int64_t{0}}};
  const AttributeMap noop = {{"noop_with_empty_axes", int64_t{1}}};
  ExpectRows({
      {{"ReduceMean", {x, Numbers({-1})}}, "[batch,seq,1]"},
      {{"ReduceMean", {x, Numbers({1, -1})}, drop}, "[batch]"},
      {{"ReduceMean", {x}, {{"axes", Ints{-1}}}, 1, 17}, "[batch,seq,1]"},
      {{"ReduceSum", {x}}, "[1,1,1]"},
      {{"ReduceSum", {x}, drop}, "[]"},
      {{"ReduceSum", {x}, noop}, "[batch,seq,768]"},
      {{"ReduceSum", {x, some}}, "[?,?,?]"},
      {{"ReduceSum", {x, some}, drop}, "none"},
      {{"ReduceSum", {unknown, Numbers({0})}}, "none"},
      {{"ReduceSum", {Floats({}), Numbers({0})}}, "[]"},
  });
}

TEST(ReduceInferTest, Contents) {
  const ops::ValueFacts shape = Numbers({kBatch, kSeq, 2});
  const AttributeMap drop = {{"keepdims", int64_t{0}}};
  ExpectRows({
      {{"ReduceProd", {shape}, drop}, "[]", "[2*batch*seq]"},
      {{"ReduceProd", {shape, Numbers({0})}}, "[1]", "[2*batch*seq]"},
      {{"ReduceSum", {shape}}, "[1]", "[2+batch+seq]"},
      {{"ReduceSum", {Numbers({})}}, "[1]", "[0]"},
      {{"ReduceMax", {Numbers({kSeq, kSeq + 1})}}, "[1]", "[1+seq]"},
      {{"ReduceMin", {Numbers({3, 7, 2})}}, "[1]", "[2]"},
      {{"ReduceMin", {Numbers({kSeq, 7})}}, "[1]", "[min(seq,7)]"},
      {{"ReduceMax", {Numbers({})}}, "[1]"},
      {{"ReduceMean", {shape}}, "[1]"},
      {{"ReduceMax", {Number(kSeq)}}, "[]", "[seq]"},
  });
}

}  // namespace
}  // namespace attnrun::testing
