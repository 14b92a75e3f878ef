// SPDX-License-Identifier: Apache-2.0
// The facts that einsum, recurrent, signal, quantizing and resizing operators infer about their
// outputs before a run.
#include "support/infer_tester.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using Ints = std::vector<int64_t>;

const ops::ValueFacts kUnknown = Facts(DataType::kFloat, std::nullopt);

AttributeMap Equation(const char* text) { return {{"equation", std::string(text)}}; }

TEST(LayerInferTest, Einsum) {
  const ops::ValueFacts q = Floats({kBatch, kSeq, 12, 64});
  const ops::ValueFacts k = Floats({kBatch, kPast, 12, 64});
  ExpectRows({
      {{"Einsum", {q, k}, Equation("bind, bjnd -> bnij")}, "[batch,12,seq,past]"},
      {{"Einsum", {q, Floats({12, 64, 768})}, Equation("bsnh,nhd->bsd")}, "[batch,seq,768]"},
      {{"Einsum", {Floats({1, kSeq, 4}), Floats({kBatch, 4, 5})}, Equation("...ij,...jk->...ik")},
       "[batch,seq,5]"},
      {{"Einsum", {Floats({kSeq, 4})}, Equation("ij")}, "[seq,4]"},
      {{"Einsum", {q, kUnknown}, Equation("bind,bjnd->bnij")}, "none"},
  });
}

TEST(LayerInferTest, Recurrent) {
  const ops::ValueFacts x = Floats({kSeq, kBatch, 8});
  const AttributeMap both = {{"hidden_size", int64_t{16}},
                             {"direction", std::string("bidirectional")}};
  const AttributeMap batch_first = {{"hidden_size", int64_t{16}}, {"layout", int64_t{1}}};
  ExpectRows({
      {{"LSTM", {x, Floats({2, 64, 8}), Floats({2, 64, 16})}, both, 3},
       "[seq,2,batch,16] [2,batch,16] [2,batch,16]"},
      {{"GRU", {x, Floats({1, 48, 8}), Floats({1, 48, 16})}, {}, 2},
       "[seq,1,batch,16] [1,batch,16]"},
      {{"RNN", {Floats({kBatch, kSeq, 8}), kUnknown, kUnknown}, batch_first, 2},
       "[batch,seq,1,16] [batch,1,16]"},
  });
}

TEST(LayerInferTest, Signal) {
  const AttributeMap one_sided = {{"onesided", int64_t{1}}};
  const ops::ValueFacts sound = Floats({kBatch, 1000, 1});
  ExpectRows({
      {{"DFT", {sound, std::nullopt, Number(1)}}, "[batch,1000,2]"},
      {{"DFT", {sound, Number(kSeq), Number(1)}, one_sided}, "[batch,1+div(seq,2),2]"},
      {{"DFT", {sound, Number(16)}, {{"axis", int64_t{1}}}, 1, 17}, "[batch,16,2]"},
      {{"STFT", {sound, Number(100), std::nullopt, Number(400)}}, "[batch,7,201,2]"},
      {{"STFT", {sound, Number(100), Floats({400})}}, "[batch,7,201,2]"},
      {{"HannWindow", {Number(400)}}, "[400]"},
      {{"HannWindow", {Facts(DataType::kInt64, Dims{})}}, "[?]"},
      {{"MelWeightMatrix", {Number(80), Number(400), Number(16000), kUnknown, kUnknown}},
       "[201,80]"},
  });
}

TEST(LayerInferTest, Quantize) {
  const ops::ValueFacts x = Floats({kBatch, kSeq});
  const ops::ValueFacts scalar = Floats({});
  ExpectRows({
      {{"QuantizeLinear", {x, scalar, Facts(DataType::kInt8, Dims{})}}, "[batch,seq]"},
      {{"DequantizeLinear", {Facts(DataType::kInt8, Dims{kSeq}), scalar}}, "[seq]"},
      {{"DynamicQuantizeLinear", {x}, {}, 3}, "[batch,seq] [] []"},
  });
}

TEST(LayerInferTest, Resize) {
  const ops::ValueFacts x = Floats({kBatch, 3, kSeq, 10});
  const InferNode scaled = {"Resize", {x, std::nullopt, Floats({4})}};
  ExpectRows({
      {{"Resize", {x, std::nullopt, std::nullopt, Numbers({kBatch, 3, 8, 20})}}, "[batch,3,8,20]"},
      {{"Resize", {x, std::nullopt, std::nullopt, Numbers({8, 20})}, {{"axes", Ints{2, 3}}}},
       "[batch,3,8,20]"},
      {scaled, "[?,?,?,?]"},
      {{"Resize", {kUnknown, std::nullopt, Floats({4})}}, "none"},
  });
  const std::vector<Tensor> constants = {Tensor(), Tensor(), Make<float>({4}, {1, 1, 2, 2.5F})};
  EXPECT_EQ(Text(InferOutputs(scaled, constants).front().dims), "[batch,3,?,25]");
}

}  // namespace
}  // namespace attnrun::testing
