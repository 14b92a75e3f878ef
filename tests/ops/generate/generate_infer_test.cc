// SPDX-License-Identifier: Apache-2.0
// The facts that generating operators infer about their outputs before a run.
#include "support/infer_tester.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using Ints = std::vector<int64_t>;

const ops::ValueFacts kAny = Facts(DataType::kInt64, Dims{});

TEST(GenerateInferTest, Constants) {
  const Tensor two = Make<int64_t>({1}, {2});
  ExpectRows({
      {{"Constant", {}, {{"value_ints", Ints{3, -1}}}}, "[2]", "[3,-1]"},
      {{"Constant", {}, {{"value_int", int64_t{7}}}}, "[]", "[7]"},
      {{"Constant", {}, {{"value", MakeBool({2}, {1, 0})}}}, "[2]", "[1,0]"},
      {{"Constant", {}, {{"value_float", 1.0F}}}, "[]"},
      {{"ConstantOfShape", {Numbers({2})}, {{"value", two}}}, "[2]", "[2,2]"},
      {{"ConstantOfShape", {Numbers({})}, {{"value", two}}}, "[]", "[2]"},
      {{"ConstantOfShape", {Numbers({kSeq})}, {{"value", two}}}, "[seq]"},
      {{"ConstantOfShape", {Numbers({kBatch, kSeq})}, {{"value", two}}}, "[batch,seq]"},
      {{"ConstantOfShape", {Facts(DataType::kInt64, Dims{2})}}, "[?,?]"},
      {{"ConstantOfShape", {Numbers({2})}}, "[2]"},
  });
  EXPECT_EQ(Infer("ConstantOfShape", {Numbers({2})}).type, DataType::kFloat);
  EXPECT_EQ(Infer("ConstantOfShape", {Numbers({2})}, {{"value", two}}).type, DataType::kInt64);
}

TEST(GenerateInferTest, Range) {
  const ops::ValueFacts floats = Facts(DataType::kFloat, Dims{});
  ExpectRows({
      {{"Range", {Number(0), Number(kSeq), Number(1)}}, "[seq]"},
      {{"Range", {Number(kPast), Number(kPast + kSeq), Number(1)}}, "[seq]"},
      {{"Range", {Number(kPast), Number(kPast + 2), Number(1)}}, "[2]", "[past,1+past]"},
      {{"Range", {Number(5), Number(0), Number(-2)}}, "[3]", "[5,3,1]"},
      {{"Range", {Number(1), Number(kSeq), Number(1)}}, "[range(from(1,seq),1)]"},
      {{"Range", {Number(0), Number(kSeq), Number(2)}}, "[range(from(0,seq),2)]"},
      {{"Range", {Number(0), kAny, Number(1)}}, "[?]"},
      {{"Range", {floats, floats, floats}}, "[?]"},
  });
}

TEST(GenerateInferTest, OtherGenerators) {
  const ops::ValueFacts ids = Facts(DataType::kInt64, Dims{kBatch, kSeq});
  const ops::ValueFacts values = Floats({2});
  const AttributeMap as_double = {{"dtype", static_cast<int64_t>(DataType::kDouble)}};
  ExpectRows({
      {{"OneHot", {ids, Number(10), values}}, "[batch,seq,10]"},
      {{"OneHot", {ids, Number(kPast), values}, {{"axis", int64_t{0}}}}, "[past,batch,seq]"},
      {{"OneHot", {ids, kAny, values}}, "[batch,seq,?]"},
      {{"EyeLike", {Floats({kSeq, 4})}}, "[seq,4]"},
      {{"RandomNormal", {}, {{"shape", Ints{2, 3}}}}, "[2,3]"},
      {{"RandomUniformLike", {Floats({kSeq, 4})}}, "[seq,4]"},
      {{"Bernoulli", {Floats({kSeq, 4})}}, "[seq,4]"},
      {{"Multinomial", {Floats({kBatch, 4})}, {{"sample_size", int64_t{3}}}}, "[batch,3]"},
  });
  EXPECT_EQ(Infer("OneHot", {ids, Number(10), values}).type, DataType::kFloat);
  EXPECT_EQ(Infer("EyeLike", {Floats({kSeq, 4})}, as_double).type, DataType::kDouble);
  EXPECT_EQ(Infer("EyeLike", {Floats({kSeq, 4})}).type, DataType::kFloat);
}

}  // namespace
}  // namespace attnrun::testing
