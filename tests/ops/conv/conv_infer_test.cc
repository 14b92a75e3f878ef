// SPDX-License-Identifier: Apache-2.0
// The facts that convolutions and pooling infer about their outputs before a run.
#include "support/infer_tester.h"

namespace attnrun::testing {
namespace {

using Ints = std::vector<int64_t>;

TEST(ConvInferTest, Convolutions) {
  const ops::ValueFacts image = Floats({kBatch, 3, 224, 224});
  const ops::ValueFacts sound = Floats({kBatch, 80, kSeq});
  const ops::ValueFacts kernel = Floats({384, 80, 3});
  const ops::ValueFacts unknown = Facts(DataType::kFloat, std::nullopt);
  const AttributeMap patches = {{"strides", Ints{16, 16}}};
  const AttributeMap padded = {{"pads", Ints{1, 1}}};
  const AttributeMap halved = {{"pads", Ints{1, 1}}, {"strides", Ints{2}}};
  const AttributeMap dilated = {{"dilations", Ints{2}}};
  const AttributeMap same = {{"auto_pad", std::string("SAME_UPPER")}, {"strides", Ints{2}}};
  const AttributeMap twice = {{"strides", Ints{2}}, {"group", int64_t{2}}};
  const ops::ValueFacts bytes = Facts(DataType::kUint8, Dims{1, 1, 3, 3});
  ExpectRows({
      {{"Conv", {image, Floats({768, 3, 16, 16})}, patches}, "[batch,768,14,14]"},
      {{"Conv", {sound, kernel}, padded}, "[batch,384,seq]"},
      {{"Conv", {sound, kernel}, halved}, "[batch,384,div(1+seq,2)]"},
      {{"Conv", {Floats({kBatch, 80, 3000}), kernel}, halved}, "[batch,384,1500]"},
      {{"Conv", {sound, kernel}, dilated}, "[batch,384,-4+seq]"},
      {{"Conv", {Floats({kBatch, 80, 5}), kernel}, same}, "[batch,384,3]"},
      {{"Conv", {Floats({kBatch, 80, 2 * kSeq + 1}), kernel}, same}, "[batch,384,1+seq]"},
      {{"Conv", {unknown, kernel}}, "[?,384,-2+?]"},
      {{"Conv", {unknown, unknown}}, "none"},
      {{"Conv", {sound, unknown}, {{"kernel_shape", Ints{1}}}}, "[batch,?,seq]"},
      {{"attnrun::Conv", {Floats({kBatch, 224, 224, 3}), Floats({768, 3, 16, 16})}, patches},
       "[batch,14,14,768]"},
      {{"attnrun::Conv", {Floats({kBatch, kSeq, 80}), kernel}, halved}, "[batch,div(1+seq,2),384]"},
      {{"attnrun::Conv", {unknown, kernel}}, "[?,-2+?,384]"},
      {{"ConvInteger", {bytes, Facts(DataType::kUint8, Dims{1, 1, 2, 2})}}, "[1,1,2,2]"},
      {{"ConvTranspose", {Floats({kBatch, 4, kSeq}), Floats({4, 3, 2})}, twice}, "[batch,6,2*seq]"},
  });
  EXPECT_EQ(Infer("ConvInteger", {bytes, bytes}).type, DataType::kInt32);
}

TEST(ConvInferTest, Pooling) {
  const ops::ValueFacts x = Floats({kBatch, 3, 10, kSeq});
  const AttributeMap windows = {{"kernel_shape", Ints{3, 1}}, {"strides", Ints{2, 1}}};
  const AttributeMap rounded_up = {
      {"kernel_shape", Ints{3, 1}}, {"strides", Ints{2, 1}}, {"ceil_mode", int64_t{1}}};
  ExpectRows({
      {{"MaxPool", {x}, windows, 2}, "[batch,3,4,seq] [batch,3,4,seq]"},
      {{"AveragePool", {x}, rounded_up}, "[batch,3,5,?]"},
      {{"GlobalAveragePool", {x}}, "[batch,3,1,1]"},
      {{"MaxPool", {Facts(DataType::kFloat, std::nullopt)}, windows}, "none"},
  });
  EXPECT_EQ(InferOutputs({"MaxPool", {x}, windows, 2})[1].type, DataType::kInt64);
}

}  // namespace
}  // namespace attnrun::testing
