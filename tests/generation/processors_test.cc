// SPDX-License-Identifier: Apache-2.0
#include "generation/processor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "generation/scores.h"

// Processors against the scores that transformers 4.57 gives.
namespace attnrun::gen {
namespace {

constexpr float kOut = kExcluded;

GenerationConfig ConfigOf(const std::string& json) {
  GenerationConfig config;
  config.top_k = 0;
  config.eos_token_id = {8};
  const absl::Status status = UpdateGenerationConfig(json, /*strict=*/true, config);
  EXPECT_TRUE(status.ok()) << status;
  return config;
}

// The scores behind the prompt {4, 7, 2} and the tokens {4, 7}.
std::vector<float> Processed(GenerationConfig config, bool sample) {
  config.do_sample = sample;
  std::vector<float> scores = {1.5F, -0.25F, 3, 0.5F, 2.25F, -1, 0, 2.25F, -2.5F, 1};
  const PromptFacts prompt = {3, 20, {1, 4, 7, 6, 9}};
  const absl::Status status =
      Processors(config, prompt).Apply({4, 7, 2, 4, 7}, absl::MakeSpan(scores));
  EXPECT_TRUE(status.ok()) << status;
  return scores;
}

void ExpectNear(const std::vector<float>& scores, const std::vector<float>& expected) {
  ASSERT_EQ(scores.size(), expected.size());
  for (size_t i = 0; i < scores.size(); ++i) {
    if (std::isinf(expected[i])) {
      EXPECT_EQ(scores[i], expected[i]) << "token " << i;
    } else {
      // A few roundings of single precision.
      EXPECT_NEAR(scores[i], expected[i], 1e-6) << "token " << i;
    }
  }
}

struct Case {
  const char* config;
  std::vector<float> scores;
};

TEST(ProcessorsTest, AgreeWithTransformers) {
  const Case cases[] = {
      {R"({"temperature":0.7})",
       {2.14285707F, -0.357142866F, 4.28571415F, 0.714285731F, 3.21428585F, -1.42857146F, 0,
        3.21428585F, -3.57142854F, 1.42857146F}},
      {R"({"top_k":3})", {kOut, kOut, 3, kOut, 2.25F, kOut, kOut, 2.25F, kOut, kOut}},
      {R"({"top_k":2})", {kOut, kOut, 3, kOut, 2.25F, kOut, kOut, 2.25F, kOut, kOut}},
      {R"({"top_p":0.8})", {1.5F, kOut, 3, kOut, 2.25F, kOut, kOut, 2.25F, kOut, kOut}},
      {R"({"top_p":0.3})", {kOut, kOut, 3, kOut, kOut, kOut, kOut, kOut, kOut, kOut}},
      {R"({"min_p":0.2})", {1.5F, kOut, 3, kOut, 2.25F, kOut, kOut, 2.25F, kOut, kOut}},
      {R"({"typical_p":0.6})", {1.5F, kOut, 3, kOut, 2.25F, kOut, kOut, 2.25F, kOut, kOut}},
      {R"({"typical_p":0.2})", {kOut, kOut, kOut, kOut, 2.25F, kOut, kOut, 2.25F, kOut, kOut}},
      {R"({"epsilon_cutoff":0.05})", {1.5F, kOut, 3, kOut, 2.25F, kOut, kOut, 2.25F, kOut, 1}},
      {R"({"eta_cutoff":0.2})", {1.5F, kOut, 3, kOut, 2.25F, kOut, kOut, 2.25F, kOut, kOut}},
      {R"({"repetition_penalty":1.5})", {1.5F, -0.25F, 2, 0.5F, 1.5F, -1, 0, 1.5F, -2.5F, 1}},
      {R"({"encoder_repetition_penalty":1.5})",
       {1.5F, -0.166666672F, 3, 0.5F, 3.375F, -1, 0, 3.375F, -2.5F, 1.5F}},
      {R"({"no_repeat_ngram_size":2})", {1.5F, -0.25F, kOut, 0.5F, 2.25F, -1, 0, 2.25F, -2.5F, 1}},
      {R"({"no_repeat_ngram_size":3})", {1.5F, -0.25F, kOut, 0.5F, 2.25F, -1, 0, 2.25F, -2.5F, 1}},
      {R"({"encoder_no_repeat_ngram_size":3})",
       {1.5F, -0.25F, 3, 0.5F, 2.25F, -1, kOut, 2.25F, -2.5F, 1}},
      {R"({"bad_words_ids":[[3],[4,7,1],[5,7,0]]})",
       {1.5F, kOut, 3, kOut, 2.25F, -1, 0, 2.25F, -2.5F, 1}},
      {R"({"sequence_bias":[[[6],1.5],[[4,7,6],-0.5],[[1,7,2],9.0]]})",
       {1.5F, -0.25F, 3, 0.5F, 2.25F, -1, 1, 2.25F, -2.5F, 1}},
      {R"({"min_length":6})", {1.5F, -0.25F, 3, 0.5F, 2.25F, -1, 0, 2.25F, kOut, 1}},
      {R"({"min_length":5})", {1.5F, -0.25F, 3, 0.5F, 2.25F, -1, 0, 2.25F, -2.5F, 1}},
      {R"({"min_new_tokens":3})", {1.5F, -0.25F, 3, 0.5F, 2.25F, -1, 0, 2.25F, kOut, 1}},
      {R"({"min_new_tokens":2,"min_length":9})",
       {1.5F, -0.25F, 3, 0.5F, 2.25F, -1, 0, 2.25F, -2.5F, 1}},
      {R"({"exponential_decay_length_penalty":[1,1.5],"min_length":6})",
       {1.5F, -0.25F, 3, 0.5F, 2.25F, -1, 0, 2.25F, kOut, 1}},
      {R"({"exponential_decay_length_penalty":[1,1.5]})",
       {1.5F, -0.25F, 3, 0.5F, 2.25F, -1, 0, 2.25F, -1.25F, 1}},
      {R"({"suppress_tokens":[2,9]})",
       {1.5F, -0.25F, kOut, 0.5F, 2.25F, -1, 0, 2.25F, -2.5F, kOut}},
      {R"({"renormalize_logits":true})",
       {-2.41478848F, -4.16478825F, -0.914788425F, -3.41478848F, -1.66478848F, -4.91478825F,
        -3.91478848F, -1.66478848F, -6.41478825F, -2.91478848F}},
  };
  for (const Case& row : cases) {
    SCOPED_TRACE(row.config);
    ExpectNear(Processed(ConfigOf(row.config), /*sample=*/true), row.scores);
  }
}

TEST(ProcessorsTest, FilterOnlyWhereTokensAreDrawn) {
  const std::vector<float> scores = Processed(ConfigOf(R"({"top_k": 1, "temperature": 2})"), false);
  EXPECT_THAT(scores, ::testing::Not(::testing::Contains(kOut)));
}

TEST(ProcessorsTest, PenalizeNewTokensAlone) {
  const std::vector<float> scores =
      Processed(ConfigOf(R"({"presence_penalty": 1, "frequency_penalty": 0.5})"), false);
  EXPECT_EQ(scores[2], 3);
  EXPECT_EQ(scores[4], 0.75F);
  EXPECT_EQ(scores[7], 0.75F);
}

TEST(ProcessorsTest, KeepATokenThatDoesNotEndForBeams) {
  GenerationConfig config = ConfigOf(R"({"top_k": 1, "num_beams": 2})");
  const std::vector<float> scores = Processed(config, true);
  EXPECT_EQ(std::count(scores.begin(), scores.end(), kOut), 7) << "the second best is there twice";
}

TEST(ProcessorsTest, ForceTheFirstAndTheLastToken) {
  GenerationConfig config = ConfigOf(R"({"forced_bos_token_id": 3, "forced_eos_token_id": [8]})");
  const Processors processors(config, {1, 5, {}});
  std::vector<float> first(10, 1);
  EXPECT_TRUE(processors.Apply({2}, absl::MakeSpan(first)).ok());
  EXPECT_EQ(ArgMax(first), 3u);
  std::vector<float> middle(10, 1);
  EXPECT_TRUE(processors.Apply({2, 3}, absl::MakeSpan(middle)).ok());
  EXPECT_EQ(middle, std::vector<float>(10, 1));
  std::vector<float> last(10, 1);
  EXPECT_TRUE(processors.Apply({2, 3, 4, 4}, absl::MakeSpan(last)).ok());
  EXPECT_EQ(ArgMax(last), 8u);
}

TEST(ProcessorsTest, SuppressAtTheBeginAlone) {
  const Processors processors(ConfigOf(R"({"begin_suppress_tokens": [1]})"), {2, 9, {}});
  std::vector<float> scores(3, 0);
  EXPECT_TRUE(processors.Apply({0, 0}, absl::MakeSpan(scores)).ok());
  EXPECT_EQ(scores, (std::vector<float>{0, kOut, 0}));
  scores = {0, 0, 0};
  EXPECT_TRUE(processors.Apply({0, 0, 0}, absl::MakeSpan(scores)).ok());
  EXPECT_EQ(scores, (std::vector<float>{0, 0, 0}));
}

TEST(ProcessorsTest, RefuseScoresThatAreNoNumbers) {
  std::vector<float> scores = {0, std::nanf("")};
  const absl::Status status =
      Processors(GenerationConfig(), {1, 9, {}}).Apply({0}, absl::MakeSpan(scores));
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("NaN"));
  scores = {0, std::nanf("")};
  const Processors replacing(ConfigOf(R"({"remove_invalid_values": true})"), {1, 9, {}});
  EXPECT_TRUE(replacing.Apply({0}, absl::MakeSpan(scores)).ok());
  EXPECT_EQ(scores[1], 0);
}

struct TimestampCase {
  TokenIds ids;
  // Added to the text tokens.
  float text;
  // An x for each token that stays.
  std::string expected;
};

TEST(TimestampsTest, AgreeWithTransformers) {
  const TimestampCase cases[] = {
      {{0, 1}, 0, ".....xxx.."},
      {{0, 1}, 4, ".....xxx.."},
      {{0, 1, 6}, 0, "xxxx......"},
      {{0, 1, 6}, 4, "xxxx......"},
      {{0, 1, 6, 0}, 0, "xxxx...xxx"},
      {{0, 1, 6, 0}, 4, "xxxx...xxx"},
      {{0, 1, 6, 0, 7}, 0, ".......xxx"},
      {{0, 1, 6, 0, 7}, 4, "...x...xxx"},
      {{0, 1, 6, 6}, 0, "xxxx......"},
      {{0, 1, 6, 6}, 4, "xxxx......"},
      {{0, 1, 6, 0, 7, 7, 2}, 0, "xxxx....xx"},
      {{0, 1, 6, 0, 7, 7, 2}, 4, "xxxx....xx"},
  };
  GenerationConfig config;
  config.return_timestamps = true;
  config.no_timestamps_token_id = 4;
  config.eos_token_id = {3};
  config.max_initial_timestamp_index = 2;
  for (const TimestampCase& row : cases) {
    std::vector<float> scores = {1.5F, -0.25F, 3, 0.5F, 2.25F, -1, 0, 2.25F, -2.5F, 1};
    for (int i = 0; i < 5; ++i) scores[i] += row.text;
    EXPECT_TRUE(Processors(config, {2, 20, {}}).Apply(row.ids, absl::MakeSpan(scores)).ok());
    std::string found;
    for (const float score : scores) found += score == kOut ? '.' : 'x';
    EXPECT_EQ(found, row.expected) << ::testing::PrintToString(row.ids);
  }
}

}  // namespace
}  // namespace attnrun::gen
