// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "attnrun/generator.h"
#include "session/feature_models.h"
#include "session/generator_tester.h"

// The ids that a decoder starts with.
namespace attnrun::testing {
namespace {

using ::testing::HasSubstr;

// The ids that a decoder of 8 tokens starts with. Its first new token is the one after the last.
class StartTest : public ::testing::Test {
 protected:
  StartTest() {
    folder_.Write("encoder_model.onnx", Encoder());
    folder_.Write("decoder_model.onnx", DecoderOfStates());
  }

  // The number of ids and the first new token, or the error.
  std::string Start(const std::string& model, const std::string& generation) {
    folder_.Write("config.json", model);
    folder_.Write("generation_config.json", generation);
    const Generator generator = Load(folder_);
    GenerationConfig config = generator.config();
    config.decoder_start_token_id = 1;
    config.max_new_tokens = 1;
    const auto result = generator.Generate({request_}, config);
    if (!result.ok()) return std::string(result.status().message());
    const GeneratedSequence& sequence = result->sequences[0];
    return absl::StrCat(sequence.prompt_tokens, " ", sequence.tokens[0]);
  }

  // The same of a Whisper whose generation_config.json has the settings.
  std::string WhisperStart(const std::string& settings) {
    return Start(R"({"model_type": "whisper"})", absl::StrCat("{", settings, "}"));
  }

  // The same of a Whisper of two languages.
  std::string BilingualStart(const std::string& settings) {
    return WhisperStart(absl::StrCat(settings, R"("lang_to_id": {"<|de|>": 2, "<|en|>": 3},
                             "task_to_id": {"transcribe": 4, "translate": 3})"));
  }

  TemporaryFolder folder_;
  GenerationRequest request_ = RequestOfFeatures();
};

TEST_F(StartTest, OfWhisperTellsOfTimestamps) {
  EXPECT_EQ(WhisperStart(R"("forced_decoder_ids": [[1, 5]], "no_timestamps_token_id": 5)"), "2 6");
  EXPECT_EQ(WhisperStart(R"("no_timestamps_token_id": 5)"), "2 6");
  EXPECT_THAT(WhisperStart(R"("forced_decoder_ids": [[1, 5]], "no_timestamps_token_id": 5,
                              "return_timestamps": true)"),
              ::testing::StartsWith("1 "));
}

TEST_F(StartTest, OfWhisperHasTheLanguageAndTheTaskByName) {
  for (const char* language : {"de", "<|de|>", "German"}) {
    EXPECT_EQ(BilingualStart(absl::StrCat(R"("language": ")", language, R"(",)")), "3 5")
        << language;
  }
  EXPECT_EQ(
      BilingualStart(R"("language": "en", "task": "translate", "forced_decoder_ids": [[1, 6]],)"),
      "3 4");
  EXPECT_THAT(BilingualStart(R"("language": "fr",)"), HasSubstr("'fr', whose token is <|fr|>"));
  EXPECT_THAT(BilingualStart(R"("language": "en", "task": "sing",)"), HasSubstr("found 'sing'"));
  request_.prompt = {1, 6};
  EXPECT_EQ(BilingualStart(""), "2 7");
}

TEST_F(StartTest, OfWhisperDetectsTheLanguage) {
  EXPECT_EQ(BilingualStart(""), "2 3");
  EXPECT_EQ(BilingualStart(R"("task": "transcribe",)"), "3 5");
  EXPECT_EQ(BilingualStart(R"("forced_decoder_ids": [[1, null], [2, 5]],)"), "3 6");
  EXPECT_EQ(BilingualStart(R"("forced_decoder_ids": [[1, 6]],)"), "2 7");
  EXPECT_EQ(WhisperStart(R"("lang_to_id": {"<|de|>": 5, "<|en|>": 2})"), "2 3");
  EXPECT_THAT(WhisperStart(R"("lang_to_id": {"<|de|>": 9})"),
              HasSubstr("lang_to_id: expected ids from 0 to 7, but found 9"));
}

// transformers puts the start before other prompts.
TEST_F(StartTest, OfDonutIsThePrompt) {
  request_.prompt = {4};
  const std::string donut = R"({"model_type": "vision-encoder-decoder",
                                "encoder": {"model_type": "donut-swin"}})";
  EXPECT_EQ(Start(donut, "{}"), "1 5");
  const std::string other = R"({"model_type": "vision-encoder-decoder",
                                "encoder": {"model_type": "vit"}})";
  EXPECT_EQ(Start(other, "{}"), "2 5");
}

}  // namespace
}  // namespace attnrun::testing
