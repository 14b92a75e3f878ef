// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "attnrun/generator.h"
#include "capi/counting_decoder.h"
#include "session/generator_tester.h"

// Files and configurations of a folder.
namespace attnrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Behind a link ".." is the folder above its target.
TEST(GeneratorFoldersTest, LinksOnTheWayAreFollowed) {
  const TemporaryFolder folder;
  folder.Write("a/model.onnx", CountingDecoder());
  folder.Write("a/config.json", R"({"bos_token_id": 4})");
  folder.Write("a/b/c", "");
  ASSERT_EQ(symlink(folder.path("a/b").c_str(), folder.path("link").c_str()), 0);
  const auto generator = Generator::Load(folder.path("link/../model.onnx"));
  ASSERT_TRUE(generator.ok()) << generator.status();
  EXPECT_EQ(generator->config().bos_token_id, 4);
}

TEST(GeneratorFoldersTest, TheStartIsOneId) {
  const TemporaryFolder folder;
  folder.Write("model.onnx", CountingDecoder());
  folder.Write("config.json", R"({"decoder_start_token_id": [2, 3]})");
  EXPECT_THAT(std::string(Generator::Load(folder.path(".")).status().message()),
              HasSubstr("decoder_start_token_id: expected one id, but found 2"));
}

TEST(GeneratorFoldersTest, NoTokenBeyondTheVocabularyEndsASequence) {
  const TemporaryFolder folder;
  folder.Write("model.onnx", CountingDecoder());
  folder.Write("config.json", R"({"eos_token_id": [-1, 500]})");
  GenerationRequest request;
  request.prompt = {4};
  GenerationConfig config = Load(folder).config();
  config.max_new_tokens = 3;
  EXPECT_THAT(Generate(Load(folder), request, config), ElementsAre(5, 6, 7));
  config.min_new_tokens = 1;
  config.exponential_decay_length_penalty = {0, 2.0};
  EXPECT_THAT(Generate(Load(folder), request, config), ElementsAre(5, 6, 7));
  config.num_beams = 2;
  EXPECT_THAT(Generate(Load(folder), request, config), ElementsAre(5, 6, 7));
  config.exponential_decay_length_penalty.reset();
  config.num_beam_groups = 2;
  config.diversity_penalty = 0.5;
  EXPECT_THAT(Generate(Load(folder), request, config), ElementsAre(5, 6, 7));
}

TEST(GeneratorFoldersTest, ALengthBelowOneIsNone) {
  const TemporaryFolder folder;
  folder.Write("model.onnx", CountingDecoder());
  folder.Write("config.json", R"({"max_position_embeddings": -1})");
  EXPECT_THAT(Continue(folder, {4}, 1), ElementsAre(5));
  folder.Write("genai_config.json", R"({"model": {"context_length": 0}})");
  EXPECT_THAT(Continue(folder, {4}, 1), ElementsAre(5));
}

TEST(GeneratorFoldersTest, RefusesADecoderInSeveralFiles) {
  const TemporaryFolder folder;
  folder.Write("model.onnx", CountingDecoder());
  folder.Write("genai_config.json", R"({"model": {"decoder": {"pipeline": [{"a": {}}]}}})");
  EXPECT_THAT(std::string(Generator::Load(folder.path(".")).status().message()),
              HasSubstr("does not run decoders in several files (pipeline)"));
}

TEST(GeneratorFoldersTest, AnEncoderAloneIsNoDecoder) {
  const TemporaryFolder folder;
  folder.Write("encoder_model.onnx", CountingDecoder());
  EXPECT_THAT(std::string(Generator::Load(folder.path(".")).status().message()),
              HasSubstr("expected model.onnx, decoder_model.onnx or decoder_model_merged.onnx"));
}

// An encoder and a decoder that read the same ids.
TEST(GeneratorFoldersTest, IdsOfAnEncoderAreInTheVocabulary) {
  const TemporaryFolder folder;
  onnx::ModelProto encoder;
  encoder.ParseFromString(CountingDecoder());
  encoder.mutable_graph()->mutable_output(0)->set_name("last_hidden_state");
  encoder.mutable_graph()->mutable_node(0)->set_output(0, "last_hidden_state");
  folder.Write("encoder_model.onnx", encoder.SerializeAsString());
  onnx::ModelProto decoder;
  decoder.ParseFromString(CountingDecoder());
  onnx::GraphProto* graph = decoder.mutable_graph();
  Declare(graph->add_input(), "encoder_hidden_states", onnx::TensorProto::FLOAT, {1, -1, 8});
  graph->mutable_node(0)->set_output(0, "rows");
  AddNode(graph, "ReduceSum", {"encoder_hidden_states"}, {"sum"});
  AddNode(graph, "Add", {"rows", "sum"}, {"logits"});
  folder.Write("decoder_model.onnx", decoder.SerializeAsString());
  GenerationRequest request;
  request.prompt = {4};
  request.encoder_ids = {3, 8};
  EXPECT_EQ(std::string(Load(folder).Generate({request}, {}).status().message()),
            "the prompt: the encoder's text: expected ids from 0 to 7, as the model's vocabulary "
            "has them, but found 8");
}

// Another file of the folder would be another model.
TEST(GeneratorFoldersTest, TheFileThatTheConfigurationNamesMustBeThere) {
  const TemporaryFolder folder;
  folder.Write("model.onnx", CountingDecoder());
  folder.Write("genai_config.json", R"({"model": {"decoder": {"filename": "other.onnx"}}})");
  EXPECT_THAT(std::string(Generator::Load(folder.path(".")).status().message()),
              HasSubstr("genai_config.json names 'other.onnx', but there is no such file"));
  EXPECT_EQ(Generator::Load(folder.path("model.onnx")).status(), absl::OkStatus());
  folder.Write("onnx/other.onnx", CountingDecoder());
  EXPECT_EQ(Generator::Load(folder.path(".")).status(), absl::OkStatus());
  folder.Write("genai_config.json", R"({"model": {"decoder": {"filename": "deep/model.onnx"}}})");
  folder.Write("deep/model.onnx", CountingDecoder());
  EXPECT_EQ(Generator::Load(folder.path(".")).status(), absl::OkStatus());
}

TEST(GeneratorFoldersTest, NamesLeadToNoOtherFolder) {
  const TemporaryFolder folder;
  folder.Write("secret.onnx", CountingDecoder());
  folder.Write("model/config.json", "{}");
  for (const std::string& name : {std::string("../secret.onnx"), folder.path("secret.onnx")}) {
    folder.Write("model/genai_config.json",
                 absl::StrCat(R"({"model": {"decoder": {"filename": ")", name, R"("}}})"));
    EXPECT_THAT(std::string(Generator::Load(folder.path("model")).status().message()),
                HasSubstr("but there is no such file"));
  }
}

// As ORTOptimizer names files, and where only the subfolder is given.
TEST(GeneratorFoldersTest, FilesMayBeOptimizedAndBesideTheirConfiguration) {
  const TemporaryFolder folder;
  folder.Write("onnx/model_optimized.onnx", CountingDecoder());
  folder.Write("config.json", R"({"bos_token_id": 4})");
  for (const char* path : {".", "onnx", "onnx/model_optimized.onnx"}) {
    const auto generator = Generator::Load(folder.path(path));
    ASSERT_TRUE(generator.ok()) << generator.status();
    EXPECT_EQ(generator->config().bos_token_id, 4) << path;
  }
}

TEST(GeneratorFoldersTest, NamesTellThePrecision) {
  for (const char* suffix : {"_q4", "_q4f16", "_uint8", "_q2f16", "_q1"}) {
    const TemporaryFolder folder;
    // A second file, so that the name decides.
    folder.Write("onnx/vision_encoder.onnx", CountingDecoder());
    folder.Write(absl::StrCat("onnx/model", suffix, ".onnx"), CountingDecoder());
    EXPECT_EQ(Generator::Load(folder.path(".")).status(), absl::OkStatus()) << suffix;
  }
}

}  // namespace
}  // namespace attnrun::testing
