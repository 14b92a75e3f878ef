// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "attnrun/generator.h"
#include "capi/counting_decoder.h"
#include "session/feature_models.h"
#include "session/generator_tester.h"

// Encoders that do not suit their decoder or the request.
namespace attnrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(GeneratorEncoderTest, AnEncoderOfFeaturesMayMakeFewerStatesThanItsMaskIsLong) {
  const TemporaryFolder folder;
  folder.Write("encoder_model.onnx", Encoder());
  folder.Write("decoder_model.onnx", DecoderOfStates());
  folder.Write("config.json", R"({"decoder_start_token_id": [2]})");
  GenerationConfig config = Load(folder).config();
  config.max_new_tokens = 3;
  EXPECT_THAT(Generate(Load(folder), RequestOfFeatures(), config), ElementsAre(3, 4, 5));
}

TEST(GeneratorEncoderTest, WhatAnEncoderDoesNotReadIsRefused) {
  const TemporaryFolder folder;
  folder.Write("encoder_model.onnx", Encoder());
  folder.Write("decoder_model.onnx", DecoderOfStates());
  folder.Write("config.json", R"({"decoder_start_token_id": [2]})");
  GenerationRequest request = RequestOfFeatures();
  request.encoder_ids = {1, 2};
  EXPECT_THAT(Message(Load(folder).Generate({request}, {}).status()),
              HasSubstr("the encoder reads no ids of a text beside its input 'input_features'"));
}

TEST(GeneratorEncoderTest, InputsOfAnEncoderAreRefusedWithoutOne) {
  const TemporaryFolder folder;
  folder.Write("model.onnx", CountingDecoder());
  folder.Write("config.json", "{}");
  GenerationRequest text;
  text.prompt = {1};
  text.encoder_ids = {2};
  GenerationRequest features = RequestOfFeatures();
  features.prompt = {1};
  for (const GenerationRequest& request : {text, features}) {
    EXPECT_THAT(Message(Load(folder).Generate({request}, {}).status()),
                HasSubstr("the model has no encoder"));
  }
}

TEST(GeneratorEncoderTest, ADecoderThatReadsNothingOfTheEncoderIsRefused) {
  const TemporaryFolder folder;
  folder.Write("encoder_model.onnx", Encoder());
  folder.Write("decoder_model.onnx", CountingDecoder());
  folder.Write("config.json", "{}");
  const std::string message = Message(Generator::Load(folder.path("."), {}).status());
  EXPECT_THAT(message, HasSubstr("decoder_model.onnx: it reads nothing of what the encoder gives"));
}

// Florence 2's encoder reads embeddings of ids, or of an image beside them.
TEST(GeneratorEncoderTest, AFileOfEmbeddingsServesTheEncoder) {
  onnx::ModelProto embeddings = EmptyModel();
  onnx::GraphProto* graph = embeddings.mutable_graph();
  Declare(graph->add_input(), "input_ids", onnx::TensorProto::INT64, {1, -1});
  Declare(graph->add_output(), "inputs_embeds", onnx::TensorProto::FLOAT, {1, -1, 4});
  onnx::TensorProto& table = *graph->add_initializer();
  table = MakeTensor("table", onnx::TensorProto::FLOAT, {8, 4});
  for (int i = 0; i < 32; ++i) table.add_float_data(static_cast<float>(i) / 64);
  AddNode(graph, "Gather", {"table", "input_ids"}, {"inputs_embeds"});
  onnx::ModelProto encoder;
  ASSERT_TRUE(encoder.ParseFromString(Encoder()));
  encoder.mutable_graph()->mutable_input(0)->set_name("inputs_embeds");
  for (auto& node : *encoder.mutable_graph()->mutable_node()) {
    for (auto& input : *node.mutable_input()) {
      if (input == "input_features") input = "inputs_embeds";
    }
  }
  const TemporaryFolder folder;
  folder.Write("embed_tokens_q4.onnx", embeddings.SerializeAsString());
  folder.Write("encoder_model_q4.onnx", encoder.SerializeAsString());
  folder.Write("decoder_model_q4.onnx", DecoderOfStates());
  folder.Write("config.json", R"({"decoder_start_token_id": 2})");
  const Generator generator = Load(folder);
  GenerationConfig config = generator.config();
  config.max_new_tokens = 3;
  GenerationRequest text;
  text.encoder_ids = {1, 2};
  GenerationRequest given;
  given.encoder_inputs["inputs_embeds"] = *Tensor::Of<float>(
      {1, 2, 4},
      {4 / 64.0F, 5 / 64.0F, 6 / 64.0F, 7 / 64.0F, 8 / 64.0F, 9 / 64.0F, 10 / 64.0F, 11 / 64.0F});
  const auto score = [&](const GenerationRequest& request) {
    const auto result = generator.Generate({request}, config);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? result->sequences[0].score : 0;
  };
  EXPECT_EQ(score(text), score(given));
  given.encoder_ids = {1};
  EXPECT_THAT(Message(generator.Generate({given}, config).status()),
              HasSubstr("reads no ids of a text beside its input 'inputs_embeds'"));
}

}  // namespace
}  // namespace attnrun::testing
