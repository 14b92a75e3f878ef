// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "attnrun/generator.h"
#include "session/feature_models.h"
#include "session/generator_tester.h"

// Audio in windows. The encoder reads windows of 4 frames, the tokens 5, 6 and 7 are timestamps at
// the frames 0, 2 and 4, and the most probable token behind i is i + 1.
namespace attnrun::testing {
namespace {

using ::testing::HasSubstr;

class AudioTest : public ::testing::Test {
 protected:
  AudioTest() {
    folder_.Write("encoder_model.onnx", Encoder());
    folder_.Write("decoder_model.onnx", DecoderOfStates());
    folder_.Write("config.json", R"({"model_type": "whisper"})");
    config_.decoder_start_token_id = 1;
    config_.no_timestamps_token_id = 4;
  }

  absl::StatusOr<GenerationResult> Transcribe(int64_t frames, const GenerateOptions& options = {}) {
    GenerationRequest request;
    request.encoder_inputs["input_features"] =
        *Tensor::Of<float>({1, 6, frames}, std::vector<float>(6 * frames, 0.5F));
    return Load(folder_).Generate({request}, config_, options);
  }

  TokenIds Tokens(int64_t frames) {
    const auto result = Transcribe(frames);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? result->sequences[0].tokens : TokenIds();
  }

  std::string Refusal(int64_t frames) { return std::string(Transcribe(frames).status().message()); }

  TemporaryFolder folder_;
  GenerationConfig config_;
};

TokenIds Repeated(const TokenIds& ids, int times) {
  TokenIds all;
  for (int i = 0; i < times; ++i) all.insert(all.end(), ids.begin(), ids.end());
  return all;
}

TEST_F(AudioTest, GoesOnWhereTimestampsSayThatSpeechEnds) {
  config_.max_new_tokens = 4;
  // The last is cut off in each window, and two frames are read.
  EXPECT_EQ(Tokens(4), Repeated({5, 6, 7}, 2));
  config_.eos_token_id = {7};
  EXPECT_EQ(Tokens(4), TokenIds({5, 6, 7}));
}

TEST_F(AudioTest, OfSeveralWindowsHasTimestamps) {
  config_.max_new_tokens = 7;
  EXPECT_EQ(Tokens(8), Repeated({5, 0, 1, 2, 3, 6, 7}, 4));
  config_.num_return_sequences = 2;
  config_.do_sample = true;
  EXPECT_THAT(Refusal(8), HasSubstr("which needs num_return_sequences to be 1"));
  config_.no_timestamps_token_id.reset();
  EXPECT_THAT(Refusal(8), HasSubstr("input_features has 8 frames, more than the 4"));
}

TEST_F(AudioTest, OfLessThanAWindowEndsWithSilence) {
  config_.max_new_tokens = 1;
  EXPECT_EQ(Tokens(3), TokenIds({5}));
}

TEST_F(AudioTest, TellsOfTheTokensThatStay) {
  config_.max_new_tokens = 4;
  TokenIds told;
  GenerateOptions options;
  options.on_token = [&](size_t, int64_t token) { told.push_back(token); };
  ASSERT_TRUE(Transcribe(4, options).ok());
  EXPECT_EQ(told, Repeated({5, 6, 7}, 2));
}

}  // namespace
}  // namespace attnrun::testing
