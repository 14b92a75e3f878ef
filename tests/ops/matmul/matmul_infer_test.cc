// SPDX-License-Identifier: Apache-2.0
// The facts that matrix products infer about their outputs before a run.
#include "support/infer_tester.h"

namespace attnrun::testing {
namespace {

TEST(MatMulInferTest, Shapes) {
  const ops::ValueFacts q = Floats({kBatch, 12, kSeq, 64});
  const ops::ValueFacts k = Floats({kBatch, 12, 64, kPast + kSeq});
  const ops::ValueFacts unknown = Facts(DataType::kFloat, std::nullopt);
  const ops::ValueFacts bytes = Facts(DataType::kUint8, Dims{kBatch, kSeq, 64});
  const AttributeMap transposed = {{"transA", int64_t{1}}, {"transB", int64_t{1}}};
  ExpectRows({
      {{"MatMul", {q, k}}, "[batch,12,seq,past+seq]"},
      {{"MatMul", {Floats({kBatch, kSeq, 768}), Floats({768, 3072})}}, "[batch,seq,3072]"},
      {{"MatMul", {Floats({1, kSeq, 4}), Floats({kBatch, 4, 5})}}, "[batch,seq,5]"},
      {{"MatMul", {Floats({4}), Floats({kBatch, 4, 5})}}, "[batch,5]"},
      {{"MatMul", {Floats({kSeq, 4}), Floats({4})}}, "[seq]"},
      {{"MatMul", {Floats({4}), Floats({4})}}, "[]"},
      {{"MatMul", {unknown, k}}, "none"},
      {{"Gemm", {Floats({kSeq, 4}), Floats({4, 5})}}, "[seq,5]"},
      {{"Gemm", {Floats({4, kSeq}), Floats({5, 4}), Floats({5})}, transposed}, "[seq,5]"},
      {{"Gemm", {unknown, Floats({4, 5})}}, "[?,5]"},
      {{"MatMulInteger", {bytes, Facts(DataType::kInt8, Dims{64, 8})}}, "[batch,seq,8]"},
  });
  EXPECT_EQ(Infer("MatMul", {q, k}).type, DataType::kFloat);
  EXPECT_EQ(Infer("MatMulInteger", {bytes, bytes}).type, DataType::kInt32);
}

}  // namespace
}  // namespace attnrun::testing
