// SPDX-License-Identifier: Apache-2.0
// The facts that gathering and scattering operators infer about their outputs before a run.
#include "support/infer_tester.h"

namespace attnrun::testing {
namespace {

const ops::ValueFacts kUnknown = Facts(DataType::kFloat, std::nullopt);

ops::ValueFacts Indices(Dims dims) { return Facts(DataType::kInt64, std::move(dims)); }

TEST(GatherInferTest, Gather) {
  const ops::ValueFacts table = Floats({30522, 768});
  const ops::ValueFacts shape = Numbers({kBatch, kSeq, 768});
  const AttributeMap second = {{"axis", int64_t{1}}};
  ExpectRows({
      {{"Gather", {table, Indices({kBatch, kSeq})}}, "[batch,seq,768]"},
      {{"Gather", {Floats({kBatch, kSeq, 768}), Number(0)}, second}, "[batch,768]"},
      {{"Gather", {Floats({kBatch, kSeq, 768}), Numbers({0})}, second}, "[batch,1,768]"},
      {{"Gather", {kUnknown, Numbers({0})}}, "none"},
      {{"Gather", {table, kUnknown}}, "none"},
      {{"Gather", {shape, Number(1)}}, "[]", "[seq]"},
      {{"Gather", {shape, Number(-1)}}, "[]", "[768]"},
      {{"Gather", {shape, Numbers({1, 0})}}, "[2]", "[seq,batch]"},
      {{"Gather", {shape, Numbers({kSeq, 0})}}, "[2]", "[?,batch]"},
      {{"Gather", {shape, Number(3)}}, "[]"},
      {{"Gather", {shape, Indices({1, 1})}}, "[1,1]"},
  });
  EXPECT_EQ(Infer("Gather", {table, Indices({kSeq})}).type, DataType::kFloat);
}

TEST(GatherInferTest, OtherGatherOperators) {
  const ops::ValueFacts data = Floats({kBatch, kSeq, 768});
  ExpectRows({
      {{"GatherElements", {data, Indices({kBatch, 1, 768})}}, "[batch,1,768]"},
      {{"ScatterElements", {data, Indices({kBatch, 1, 768}), data}}, "[batch,seq,768]"},
      {{"ScatterND", {data, Indices({5, 2}), Floats({5, 768})}}, "[batch,seq,768]"},
      {{"TensorScatter", {Floats({kBatch, 8, 64, 32}), Floats({kBatch, 8, 1, 32})}, {}, 1, 24},
       "[batch,8,64,32]"},
      {{"GatherND", {data, Indices({kBatch, 2})}}, "[batch,768]"},
      {{"GatherND", {data, Indices({7, 5, 1})}, {{"batch_dims", int64_t{1}}}}, "[7,5,768]"},
      {{"GatherND", {data, Indices({5, kSeq})}}, "none"},
      {{"Compress", {data, Facts(DataType::kBool, Dims{3})}}, "[?]"},
      {{"Compress", {data, Facts(DataType::kBool, Dims{3})}, {{"axis", int64_t{1}}}},
       "[batch,?,768]"},
  });
}

}  // namespace
}  // namespace attnrun::testing
