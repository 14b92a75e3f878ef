// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "generation/searched.h"

// Beam search against the sequences and scores of transformers 4.57 on the same logits.
namespace attnrun::gen {
namespace {

struct Sequence {
  TokenIds tokens;
  float score;
};

struct Case {
  const char* config;
  std::vector<Sequence> sequences;
};

std::vector<GeneratedSequence> SearchedWith(const std::string& json) {
  GenerationConfig config;
  config.num_beams = 4;
  config.eos_token_id = {3};
  EXPECT_TRUE(UpdateGenerationConfig(json, /*strict=*/true, config).ok());
  return Searched(FakeDecoder(23), {{1, 9, 4}}, config, 9);
}

// Fails where a case differs from what is found.
void Compare(absl::Span<const Case> cases) {
  for (const Case& row : cases) {
    SCOPED_TRACE(row.config);
    const std::vector<GeneratedSequence> found = SearchedWith(row.config);
    ASSERT_EQ(found.size(), row.sequences.size());
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].tokens, row.sequences[i].tokens);
      // Sums of nine log-probabilities in single precision.
      EXPECT_NEAR(found[i].score, row.sequences[i].score, 1e-5);
    }
  }
}

TEST(BeamSearchTest, AgreesWithTransformers) {
  const Case cases[] = {
      {R"({})", {{{5, 9, 11, 8, 19, 0, 16, 6, 11}, -1.513774F}}},
      {R"({"early_stopping":true})", {{{5, 9, 11, 8, 19, 0, 16, 6, 11}, -1.513774F}}},
      {R"({"early_stopping":"never","length_penalty":2.0})",
       {{{5, 9, 11, 8, 19, 0, 16, 6, 11}, -0.1681971F}}},
      {R"({"length_penalty":0.0})", {{{5, 9, 11, 12, 8, 19, 3}, -10.96776F}}},
      {R"({"num_return_sequences":3,"early_stopping":"never"})",
       {{{5, 9, 11, 8, 19, 0, 16, 6, 11}, -1.513774F},
        {{5, 9, 11, 8, 19, 0, 16, 21, 16}, -1.547875F},
        {{5, 9, 11, 12, 8, 19, 12, 2, 22}, -1.565603F}}},
      {R"({"repetition_penalty":1.4})", {{{0, 2, 14, 18, 3}, -1.597694F}}},
      {R"({"no_repeat_ngram_size":1,"num_beams":2})", {{{0, 15, 2, 8, 21, 5, 20, 3}, -1.618601F}}},
      {R"({"eos_token_id":[3,5,8],"num_return_sequences":4})",
       {{{20, 12, 17, 16, 1, 7, 16, 17, 14}, -1.55905F},
        {{20, 12, 17, 16, 1, 7, 15, 19, 17}, -1.592197F},
        {{20, 12, 17, 16, 1, 7, 16, 17, 13}, -1.600717F},
        {{0, 15, 2, 8}, -1.601723F}}},
      {R"({"length_penalty":-1.0})", {{{5, 9, 11, 12, 8, 19, 3}, -76.7743F}}},
      {R"({"min_new_tokens":6})", {{{5, 9, 11, 8, 19, 0, 16, 6, 11}, -1.513774F}}},
  };
  Compare(cases);
}

TEST(BeamSearchTest, SettingsThatExcludeEveryTokenAreRefused) {
  TokenIds all(23);
  std::iota(all.begin(), all.end(), 0);
  for (const int64_t groups : {1, 2}) {
    GenerationConfig config;
    config.num_beams = 4;
    config.num_beam_groups = groups;
    config.diversity_penalty = groups == 1 ? 0 : 1;
    config.suppress_tokens = all;
    EXPECT_THAT(
        std::string(TriedSearch(FakeDecoder(23), {{1, 9, 4}}, config, 9).status().message()),
        ::testing::HasSubstr("the settings exclude every token"));
  }
}

// The sequences of transformers 4.48; later versions do not search in groups by themselves.
TEST(BeamSearchTest, GroupsAgreeWithTransformers) {
  const Case cases[] = {
      {R"({"num_beam_groups":2,"diversity_penalty":0.5})",
       {{{5, 9, 11, 12, 8, 19, 12, 2, 22}, -1.565603F}}},
      {R"({"num_beam_groups":4,"diversity_penalty":1.0,"num_return_sequences":4})",
       {{{5, 9, 11, 12, 8, 19, 3}, -1.566822F},
        {{10, 8, 14, 6, 4, 21, 14, 21, 17}, -1.606709F},
        {{15, 21, 20, 10, 2, 2, 11, 9, 22}, -1.627254F},
        {{0, 2, 21, 15, 21, 13, 8, 17, 14}, -1.648388F}}},
      {R"({"num_beams":6,"num_beam_groups":3,"diversity_penalty":2.0,"num_return_sequences":3,
           "early_stopping":true})",
       {{{5, 9, 11, 12, 8, 19, 12, 2, 22}, -1.565603F},
        {{5, 9, 11, 12, 8, 19, 3}, -1.566822F},
        {{20, 12, 17, 5, 22, 5, 3}, -1.572646F}}},
      {R"({"num_beams":6,"num_beam_groups":2,"diversity_penalty":0.3,"num_return_sequences":3,
           "length_penalty":0.0})",
       {{{5, 9, 11, 12, 8, 19, 3}, -10.96776F},
        {{20, 12, 17, 5, 22, 5, 3}, -11.00853F},
        {{20, 12, 17, 5, 22, 18, 17, 1, 9}, -14.01123F}}},
      {R"({"num_beams":6,"num_beam_groups":2,"diversity_penalty":0.3,"num_return_sequences":2,
           "length_penalty":2.0,"early_stopping":"never"})",
       {{{20, 12, 17, 5, 22, 18, 17, 1, 9}, -0.1729781F},
        {{5, 9, 11, 12, 8, 19, 12, 2, 22}, -0.1739559F}}},
      {R"({"num_beam_groups":2,"diversity_penalty":1.5,"repetition_penalty":1.4,
           "num_return_sequences":2})",
       {{{0, 15, 2, 8, 21, 5, 20, 3}, -1.618601F}, {{10, 8, 14, 21, 11, 3}, -1.635399F}}},
  };
  Compare(cases);
}

TEST(BeamSearchTest, TellsHowASequenceEnds) {
  EXPECT_EQ(SearchedWith(R"({"length_penalty": 0.0})")[0].finish, FinishReason::kStop);
  EXPECT_EQ(SearchedWith("{}")[0].finish, FinishReason::kLength);
}

}  // namespace
}  // namespace attnrun::gen
