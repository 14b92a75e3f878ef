// SPDX-License-Identifier: Apache-2.0
// The facts that normalizations, softmax and cumulative sums infer about their outputs before a
// run.
#include "support/infer_tester.h"

namespace attnrun::testing {
namespace {

TEST(NormalizationInferTest, Shapes) {
  const ops::ValueFacts x = Floats({kBatch, kSeq, 768});
  const ops::ValueFacts scale = Floats({768});
  const ops::ValueFacts image = Floats({kBatch, 32, kSeq, kSeq});
  const ops::ValueFacts channels = Floats({32});
  const AttributeMap groups = {{"num_groups", int64_t{4}}};
  const AttributeMap training = {{"training_mode", int64_t{1}}};
  const AttributeMap size = {{"size", int64_t{3}}};
  const std::vector<std::optional<ops::ValueFacts>> batch_inputs = {image, channels, channels,
                                                                    channels, channels};
  ExpectRows({
      {{"LayerNormalization", {x, scale, scale}, {}, 3},
       "[batch,seq,768] [batch,seq,1] [batch,seq,1]"},
      {{"LayerNormalization", {x, scale}, {{"axis", int64_t{1}}}, 2},
       "[batch,seq,768] [batch,1,1]"},
      {{"LayerNormalization", {Facts(DataType::kFloat, std::nullopt), scale}, {}, 2}, "none none"},
      {{"RMSNormalization", {x, scale}, {}, 1, 23}, "[batch,seq,768]"},
      {{"SimplifiedLayerNormalization", {x, scale}, {}, 2}, "[batch,seq,768] [batch,seq,1]"},
      {{"InstanceNormalization", {image, channels, channels}}, "[batch,32,seq,seq]"},
      {{"GroupNormalization", {image, channels, channels}, groups, 1, 21}, "[batch,32,seq,seq]"},
      {{"BatchNormalization", batch_inputs}, "[batch,32,seq,seq]"},
      {{"BatchNormalization", batch_inputs, training, 3}, "[batch,32,seq,seq] [32] [32]"},
      {{"LpNormalization", {x}}, "[batch,seq,768]"},
      {{"MeanVarianceNormalization", {image}}, "[batch,32,seq,seq]"},
      {{"LRN", {image}, size}, "[batch,32,seq,seq]"},
      {{"Softmax", {x}}, "[batch,seq,768]"},
      {{"LogSoftmax", {x}}, "[batch,seq,768]"},
      {{"Hardmax", {x}}, "[batch,seq,768]"},
      {{"CumSum", {x, Number(1)}}, "[batch,seq,768]"},
  });
}

TEST(NormalizationInferTest, Types) {
  // Y has the type of the scale; the statistics have stash_type.
  const InferNode node = {"LayerNormalization",
                          {Facts(DataType::kFloat16, Dims{4}), Floats({4})},
                          {{"stash_type", static_cast<int64_t>(DataType::kDouble)}},
                          2};
  const std::vector<ops::ValueFacts> outputs = InferOutputs(node);
  EXPECT_EQ(outputs[0].type, DataType::kFloat);
  EXPECT_EQ(outputs[1].type, DataType::kDouble);
  EXPECT_EQ(Infer("Softmax", {Facts(DataType::kFloat16, Dims{4})}).type, DataType::kFloat16);
}

}  // namespace
}  // namespace attnrun::testing
