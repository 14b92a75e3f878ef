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

}  // namespace
}  // namespace attnrun::testing
