// SPDX-License-Identifier: Apache-2.0
// The facts that operators which find elements infer about their outputs before a run.
#include "support/infer_tester.h"

namespace attnrun::testing {
namespace {

TEST(SearchInferTest, Shapes) {
  const ops::ValueFacts x = Floats({kBatch, kSeq, 768});
  const ops::ValueFacts unknown = Facts(DataType::kFloat, std::nullopt);
  const AttributeMap drop = {{"axis", int64_t{-1}}, {"keepdims", int64_t{0}}};
  const AttributeMap second = {{"axis", int64_t{1}}};
  ExpectRows({
      {{"ArgMax", {x}}, "[1,seq,768]"},
      {{"ArgMin", {x}, drop}, "[batch,seq]"},
      {{"ArgMax", {unknown}}, "none"},
      {{"TopK", {x, Numbers({5})}, {}, 2}, "[batch,seq,5] [batch,seq,5]"},
      {{"TopK", {x, Numbers({kPast})}, second, 2}, "[batch,past,768] [batch,past,768]"},
      {{"TopK", {x, Facts(DataType::kInt64, Dims{1})}, {}, 2}, "[batch,seq,?] [batch,seq,?]"},
      {{"NonZero", {x}}, "[3,?]"},
      {{"NonZero", {unknown}}, "[?,?]"},
      {{"Unique", {x}, {}, 4}, "[?] [?] [768*batch*seq] [?]"},
      {{"Unique", {x}, second, 4}, "[batch,?,768] [?] [seq] [?]"},
  });
  EXPECT_EQ(Infer("ArgMax", {x}).type, DataType::kInt64);
  // There are as many first occurrences and counts as distinct elements.
  const std::vector<ops::ValueFacts> unique = InferOutputs({"Unique", {x}, {}, 4});
  EXPECT_EQ(unique[1].dims, unique[0].dims);
  EXPECT_EQ(unique[3].dims, unique[0].dims);
  EXPECT_EQ(unique[0].type, DataType::kFloat);
}

}  // namespace
}  // namespace attnrun::testing
