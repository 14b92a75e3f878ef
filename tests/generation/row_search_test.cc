// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "generation/scores.h"
#include "generation/searched.h"

namespace attnrun::gen {
namespace {

constexpr int64_t kVocabulary = 23;

std::vector<GeneratedSequence> Continued(const std::vector<TokenIds>& prompts,
                                         const GenerationConfig& config) {
  return Searched(FakeDecoder(kVocabulary), prompts, config, 12);
}

// The most probable tokens, by a loop of its own.
TokenIds MostProbable(TokenIds ids, size_t count) {
  const FakeDecoder decoder(kVocabulary);
  TokenIds tokens;
  while (tokens.size() < count) {
    tokens.push_back(static_cast<int64_t>(ArgMax(decoder.LogitsBehind(ids).values)));
    ids.push_back(tokens.back());
  }
  return tokens;
}

const std::vector<TokenIds>& Prompts() {
  static const auto& prompts = *new std::vector<TokenIds>{{1}, {5, 6, 7, 8, 9, 1, 2}, {3, 3, 3}};
  return prompts;
}

TEST(RowSearchTest, TakesTheMostProbableTokens) {
  const std::vector<GeneratedSequence> found = Continued(Prompts(), {});
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].tokens, MostProbable(Prompts()[i], 12));
    EXPECT_EQ(found[i].prompt_tokens, static_cast<int64_t>(Prompts()[i].size()));
    EXPECT_EQ(found[i].finish, FinishReason::kLength);
    EXPECT_LT(found[i].score, 0);
  }
}

TEST(RowSearchTest, StopsBehindAStopTokenOrSequence) {
  const TokenIds all = MostProbable({1}, 12);
  GenerationConfig config;
  config.eos_token_id = {all[4]};
  const size_t first = std::find(all.begin(), all.end(), all[4]) - all.begin() + 1;
  EXPECT_EQ(Continued({{1}}, config)[0].tokens, TokenIds(all.begin(), all.begin() + first));
  EXPECT_EQ(Continued({{1}}, config)[0].finish, FinishReason::kStop);
  config.eos_token_id = {};
  config.stop_sequences = {{all[0], all[1]}};
  EXPECT_EQ(Continued({{1}}, config)[0].tokens, TokenIds(all.begin(), all.begin() + 2));
}

TEST(RowSearchTest, DrawnTokensDependOnSeedAndPromptAlone) {
  GenerationConfig config;
  config.do_sample = true;
  config.num_return_sequences = 2;
  config.seed = 5;
  const std::vector<GeneratedSequence> together = Continued(Prompts(), config);
  for (size_t i = 0; i < Prompts().size(); ++i) {
    const std::vector<GeneratedSequence> alone = Continued({Prompts()[i]}, config);
    EXPECT_EQ(alone[0].tokens, together[2 * i].tokens);
    EXPECT_EQ(alone[1].tokens, together[2 * i + 1].tokens);
    EXPECT_NE(alone[0].tokens, alone[1].tokens);
  }
  config.seed = 6;
  EXPECT_NE(Continued(Prompts(), config)[0].tokens, together[0].tokens);
}

TEST(RowSearchTest, DrawsInProportionToTheProbabilities) {
  const std::vector<float> expected = Softmax(FakeDecoder(kVocabulary).LogitsBehind({1}).values);
  GenerationConfig config;
  config.do_sample = true;
  config.top_k = 0;
  config.num_return_sequences = 20000;
  std::vector<double> counts(kVocabulary, 0);
  config.stop_sequences = {{0}};
  for (int64_t v = 1; v < kVocabulary; ++v) config.stop_sequences.push_back({v});
  for (const GeneratedSequence& sequence : Continued({{1}}, config)) ++counts[sequence.tokens[0]];
  for (int64_t v = 0; v < kVocabulary; ++v) {
    // Five standard deviations of the count.
    const double deviation = std::sqrt(20000 * expected[v] * (1 - expected[v]));
    EXPECT_NEAR(counts[v], 20000 * expected[v], 5 * deviation + 1);
  }
}

TEST(RowSearchTest, PiecesOfThePromptChangeNothing) {
  GenerationConfig config;
  const std::vector<GeneratedSequence> whole = Continued(Prompts(), config);
  for (const int64_t size : {1, 2, 3, 100}) {
    config.prefill_chunk_size = size;
    const std::vector<GeneratedSequence> cut = Continued(Prompts(), config);
    for (size_t i = 0; i < whole.size(); ++i) EXPECT_EQ(cut[i].tokens, whole[i].tokens);
  }
}

}  // namespace
}  // namespace attnrun::gen
