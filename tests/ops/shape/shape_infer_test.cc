// SPDX-License-Identifier: Apache-2.0
// The facts that shape operators infer about their outputs before a run.
#include "support/infer_tester.h"

namespace attnrun::testing {
namespace {

using Ints = std::vector<int64_t>;

const ops::ValueFacts kHidden = Floats({kBatch, kSeq, 768});
const ops::ValueFacts kUnknown = Facts(DataType::kFloat, std::nullopt);

TEST(ShapeInferTest, ShapesBecomeContents) {
  const AttributeMap middle = {{"start", int64_t{1}}, {"end", int64_t{-1}}};
  ExpectRows({
      {{"Shape", {kHidden}}, "[3]", "[batch,seq,768]"},
      {{"Shape", {kHidden}, middle}, "[1]", "[seq]"},
      {{"Shape", {kHidden}, {{"start", int64_t{5}}}}, "[0]", "[]"},
      {{"Shape", {Floats({})}}, "[0]", "[]"},
      {{"Shape", {kUnknown}}, "[?]"},
      {{"Size", {kHidden}}, "[]", "[768*batch*seq]"},
      {{"Size", {Floats({2, 3})}}, "[]", "[6]"},
      {{"Size", {kUnknown}}, "[]"},
  });
  EXPECT_EQ(Infer("Shape", {kHidden}).type, DataType::kInt64);
}

TEST(ShapeInferTest, Reshape) {
  const AttributeMap zeros = {{"allowzero", int64_t{1}}};
  const ops::ValueFacts heads = Floats({kBatch, kSeq, 12, 64});
  ExpectRows({
      // Numbers, copied axes and the rest.
      {{"Reshape", {kHidden, Numbers({0, 0, 12, 64})}}, "[batch,seq,12,64]"},
      {{"Reshape", {kHidden, Numbers({0, -1, 12, 64})}}, "[batch,seq,12,64]"},
      {{"Reshape", {kHidden, Numbers({-1, 768})}}, "[batch*seq,768]"},
      {{"Reshape", {heads, Numbers({0, 0, -1})}}, "[batch,seq,768]"},
      {{"Reshape", {Floats({2, 3, 4}), Numbers({-1, 6})}}, "[4,6]"},
      {{"Reshape", {Floats({0, 4}), Numbers({0, -1})}}, "[0,4]"},
      {{"Reshape", {Floats({0, 4}), Numbers({4, 0})}, zeros}, "[4,0]"},
      // Symbols.
      {{"Reshape", {heads, Numbers({kBatch, kSeq, 768})}}, "[batch,seq,768]"},
      {{"Reshape", {heads, Numbers({kBatch, -1, 768})}}, "[batch,seq,768]"},
      {{"Reshape", {heads, Numbers({kBatch * kSeq, -1})}}, "[batch*seq,768]"},
      {{"Reshape", {Floats({kBatch, kPast + kSeq, 768}), Numbers({-1, kPast + kSeq, 12, 64})}},
       "[batch,past+seq,12,64]"},
      // A quotient with a remainder gets its own name.
      {{"Reshape", {Floats({kSeq}), Numbers({2, -1})}}, "[2,div(seq,2)]"},
      // An entry that may be -1 is not an extent, unless another entry is -1.
      {{"Reshape", {kHidden, Numbers({kSeq - 2, 768})}}, "[?,768]"},
      {{"Reshape", {kHidden, Numbers({kSeq - 2, -1})}}, "[-2+seq,?div(768*batch*seq,-2+seq)]"},
      // Less is known about these.
      {{"Reshape", {kUnknown, Numbers({0, -1, 64})}}, "[?,?,64]"},
      {{"Reshape", {kHidden, Facts(DataType::kInt64, Dims{3})}}, "[?,?,?]"},
      {{"Reshape", {kHidden, Facts(DataType::kInt64, Dims{kSeq})}}, "none"},
      {{"Reshape", {kHidden, Facts(DataType::kInt64, std::nullopt)}}, "none"},
      {{"Reshape", {Floats({2}), Numbers({2, 1, 0})}}, "none"},
      // Lists of integers keep their contents.
      {{"Reshape", {Number(kSeq), Numbers({-1})}}, "[1]", "[seq]"},
      {{"Reshape", {Numbers({kSeq}), Numbers({})}}, "[]", "[seq]"},
      {{"Reshape", {Numbers({kSeq, 2}), Numbers({-1})}}, "[2]", "[seq,2]"},
      {{"Reshape", {Numbers({kSeq, 2}), Numbers({1, 2})}}, "[1,2]"},
  });
}

TEST(ShapeInferTest, AxesAreAddedAndRemoved) {
  const ops::ValueFacts row = Floats({1, kSeq, 1});
  ExpectRows({
      {{"Flatten", {kHidden}}, "[batch,768*seq]"},
      {{"Flatten", {kHidden}, {{"axis", int64_t{-1}}}}, "[batch*seq,768]"},
      {{"Flatten", {kHidden}, {{"axis", int64_t{0}}}}, "[1,768*batch*seq]"},
      {{"Flatten", {kUnknown}}, "[?,?]"},
      {{"Squeeze", {row, Numbers({0})}}, "[seq,1]"},
      {{"Squeeze", {row, Numbers({-1, 0})}}, "[seq]"},
      {{"Squeeze", {row}, {{"axes", Ints{0}}}, 1, 11}, "[seq,1]"},
      // It is unknown whether seq is 1.
      {{"Squeeze", {row}}, "none"},
      {{"Squeeze", {Floats({1, 3, 1})}}, "[3]"},
      {{"Squeeze", {Numbers({kSeq})}}, "[]", "[seq]"},
      {{"Squeeze", {row, Facts(DataType::kInt64, Dims{1})}}, "none"},
      {{"Unsqueeze", {Floats({kSeq}), Numbers({0, 2})}}, "[1,seq,1]"},
      {{"Unsqueeze", {Floats({kSeq}), Numbers({-1})}}, "[seq,1]"},
      {{"Unsqueeze", {Floats({kSeq})}, {{"axes", Ints{0}}}, 1, 11}, "[1,seq]"},
      {{"Unsqueeze", {Number(kSeq), Numbers({0})}}, "[1]", "[seq]"},
      {{"Unsqueeze", {Numbers({kSeq}), Numbers({0})}}, "[1,1]"},
      {{"Unsqueeze", {Floats({kSeq}), Facts(DataType::kInt64, Dims{2})}}, "[?,?,?]"},
      {{"Unsqueeze", {Floats({kSeq}), Numbers({0, 0})}}, "none"},
      {{"Unsqueeze", {kUnknown, Numbers({0})}}, "none"},
  });
}

}  // namespace
}  // namespace attnrun::testing
