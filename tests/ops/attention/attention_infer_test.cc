// SPDX-License-Identifier: Apache-2.0
// The facts that attention infers about its outputs before a run.
#include "support/infer_tester.h"

namespace attnrun::testing {
namespace {

TEST(AttentionInferTest, Shapes) {
  const ops::ValueFacts q = Floats({kBatch, 12, kSeq, 64});
  const ops::ValueFacts k = Floats({kBatch, 4, kSeq, 64});
  const ops::ValueFacts v = Floats({kBatch, 4, kSeq, 32});
  const ops::ValueFacts past_k = Floats({kBatch, 4, kPast, 64});
  const ops::ValueFacts past_v = Floats({kBatch, 4, kPast, 32});
  const ops::ValueFacts unknown = Facts(DataType::kFloat, std::nullopt);
  const ops::ValueFacts hidden = Floats({kBatch, kSeq, 768});
  const ops::ValueFacts narrow = Floats({kBatch, kSeq, 128});
  const AttributeMap heads = {{"q_num_heads", int64_t{12}}, {"kv_num_heads", int64_t{4}}};
  ExpectRows({
      {{"Attention", {q, k, v}, {}, 1, 23}, "[batch,12,seq,32]"},
      {{"Attention", {q, k, v, std::nullopt, past_k, past_v}, {}, 4, 23},
       "[batch,12,seq,32] [batch,4,past+seq,64] [batch,4,past+seq,32] [batch,12,seq,past+seq]"},
      {{"Attention", {q, k, v}, {}, 3, 23}, "[batch,12,seq,32] [batch,4,seq,64] [batch,4,seq,32]"},
      {{"Attention", {hidden, Floats({kBatch, kSeq, 256}), narrow}, heads, 3, 23},
       "[batch,seq,384] [batch,4,seq,64] [batch,4,seq,32]"},
      {{"Attention", {q, unknown, unknown}, {}, 1, 23}, "[batch,12,seq,?]"},
      {{"Attention", {unknown, k, v}, {}, 1, 23}, "none"},
      {{"RotaryEmbedding", {q, Floats({kSeq, 32}), Floats({kSeq, 32})}, {}, 1, 23},
       "[batch,12,seq,64]"},
  });
}

}  // namespace
}  // namespace attnrun::testing
