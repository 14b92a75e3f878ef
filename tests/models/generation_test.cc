// SPDX-License-Identifier: Apache-2.0
// Generation by real decoders: the tokens of a request, and all distributions that they were drawn
// from, do not depend on what runs beside it, is reused, or is guessed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <thread>

#include "attnrun/generator.h"
#include "models/archived_models.h"
#include "models/decoder_inputs.h"

namespace attnrun::testing {
namespace {

using ::testing::HasSubstr;

Generator Load(const std::string& file, int threads = 0, const GeneratorOptions& options = {},
               DataType cache_type = DataType::kFloat) {
  SessionOptions session;
  session.threads = threads;
  session.cache_type = cache_type;
  auto generator = Generator::Load(InModels(file), session, options);
  EXPECT_TRUE(generator.ok()) << generator.status();
  return *std::move(generator);
}

GenerationConfig Drawn(uint64_t seed) {
  GenerationConfig config;
  config.do_sample = true;
  config.seed = seed;
  config.num_return_sequences = 2;
  config.max_new_tokens = 10;
  return config;
}

// All that a request gives, with whole distributions.
using Answer =
    std::vector<std::pair<TokenIds, std::vector<std::vector<std::pair<int64_t, float>>>>>;

Answer Generated(const Generator& generator, const std::vector<TokenIds>& prompts,
                 const GenerationConfig& config) {
  std::vector<GenerationRequest> requests;
  for (const TokenIds& prompt : prompts) requests.emplace_back().prompt = prompt;
  GenerateOptions options;
  options.top_candidates = 1 << 20;
  const auto result = generator.Generate(requests, config, options);
  EXPECT_TRUE(result.ok()) << result.status();
  Answer answer;
  for (const GeneratedSequence& sequence : result->sequences) {
    answer.emplace_back(sequence.tokens, sequence.candidates);
  }
  return answer;
}

const std::vector<TokenIds>& Prompts() {
  static const auto& prompts = *new std::vector<TokenIds>{
      {1}, {5, 6, 7, 5, 6, 7, 5}, {5, 6, 7, 5, 6, 7, 5, 6, 2, 9, 4}, {3, 3, 3, 3}};
  return prompts;
}

class GenerationTest : public ::testing::TestWithParam<const char*> {
 protected:
  // The answers to each prompt alone, without a cache, on one thread.
  std::vector<Answer> Expected() const {
    GeneratorOptions options;
    options.prefix_cache_bytes = 0;
    const Generator generator = Load(GetParam(), 1, options);
    std::vector<Answer> answers;
    for (size_t i = 0; i < Prompts().size(); ++i) {
      GenerationConfig config = Drawn(i);
      config.use_cache = false;
      answers.push_back(Generated(generator, {Prompts()[i]}, config));
    }
    return answers;
  }
};

TEST_P(GenerationTest, ChunksPrefixesAndGuessesChangeNothing) {
  const std::vector<Answer> expected = Expected();
  GeneratorOptions options;
  options.draft = InModels(GetParam());
  const Generator plain = Load(GetParam());
  const Generator drafted = Load(GetParam(), 2, options);
  for (size_t i = 0; i < Prompts().size(); ++i) {
    GenerationConfig config = Drawn(i);
    EXPECT_EQ(Generated(plain, {Prompts()[i]}, config), expected[i]);
    EXPECT_EQ(Generated(drafted, {Prompts()[i]}, config), expected[i]);
    config.prompt_lookup_num_tokens = 3;
    EXPECT_EQ(Generated(plain, {Prompts()[i]}, config), expected[i]);
    config.prefill_chunk_size = 2;
    EXPECT_EQ(Generated(plain, {Prompts()[i]}, config), expected[i]);
  }
}

TEST_P(GenerationTest, RequestsOfManyThreadsChangeNothing) {
  const std::vector<Answer> expected = Expected();
  GeneratorOptions options;
  options.max_step_tokens = 8;
  options.max_rows = 6;
  const Generator generator = Load(GetParam(), 2, options);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int round = 0; round < 6; ++round) {
        const size_t i = random() % Prompts().size();
        GenerationConfig config = Drawn(i);
        if (random() % 2 == 0) config.prompt_lookup_num_tokens = 2;
        EXPECT_EQ(Generated(generator, {Prompts()[i]}, config), expected[i]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(GenerationTest, BeamsOfSeveralPromptsAreThoseOfOne) {
  GenerationConfig config;
  config.num_beams = 3;
  config.num_return_sequences = 3;
  config.max_new_tokens = 8;
  const Generator generator = Load(GetParam());
  const Answer together = Generated(generator, Prompts(), config);
  Answer alone;
  config.use_cache = false;
  for (const TokenIds& prompt : Prompts()) {
    for (auto& sequence : Generated(generator, {prompt}, config)) alone.push_back(sequence);
  }
  EXPECT_EQ(together, alone);
}

TEST_P(GenerationTest, ASecondQuestionReadsOnlyWhatIsNew) {
  const Generator generator = Load(GetParam());
  GenerationConfig config;
  config.max_new_tokens = 4;
  GenerationRequest request;
  request.prompt = Prompts()[2];
  const auto first = generator.Generate({request}, config);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->reused_tokens, 0);
  EXPECT_GT(first->state_bytes, 0u);
  // The answer, all of which but the last token was read, and a question.
  const TokenIds& answer = first->sequences[0].tokens;
  request.prompt.insert(request.prompt.end(), answer.begin(), answer.end());
  request.prompt.insert(request.prompt.end(), {8, 9});
  const auto second = generator.Generate({request}, config);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->reused_tokens, static_cast<int64_t>(request.prompt.size()) - 3);
}

// The sum of the differences of the distributions behind the prompt.
double Distance(const Answer& a, const Answer& b) {
  std::map<int64_t, float> probabilities;
  for (const auto& [id, log] : a[0].second[0]) probabilities[id] += std::exp(log);
  for (const auto& [id, log] : b[0].second[0]) probabilities[id] -= std::exp(log);
  double sum = 0;
  for (const auto& [id, difference] : probabilities) sum += std::fabs(difference);
  return sum;
}

TEST_P(GenerationTest, CachesOfFewerBitsGiveTheSameInAnySteps) {
  const Generator exact = Load(GetParam());
  GeneratorOptions apart;
  apart.prefix_cache_bytes = 0;
  for (const DataType type : {DataType::kBfloat16, DataType::kFloat16, DataType::kInt8}) {
    const Generator alone = Load(GetParam(), 1, apart, type);
    const Generator generator = Load(GetParam(), 2, {}, type);
    Answer all;
    for (size_t i = 0; i < Prompts().size(); ++i) {
      GenerationConfig config = Drawn(0);
      const Answer expected = Generated(alone, {Prompts()[i]}, config);
      all.insert(all.end(), expected.begin(), expected.end());
      // Logits are some units large, and follow keys and values with 8 or 11 bits; 8 bits of int8
      // are those of the largest number of a head.
      const double distance = Distance(expected, Generated(exact, {Prompts()[i]}, config));
      EXPECT_GT(distance, 0);
      EXPECT_LT(distance, type == DataType::kFloat16 ? 0.0125 : 0.1);
      config.prompt_lookup_num_tokens = 3;
      config.prefill_chunk_size = 2;
      EXPECT_EQ(Generated(generator, {Prompts()[i]}, config), expected);
    }
    EXPECT_EQ(Generated(generator, Prompts(), Drawn(0)), all);
    const auto bytes = [](const Generator& g) {
      return *g.decoder().StateBytes({.batch = 1, .capacity = 64});
    };
    EXPECT_LE(2 * bytes(generator), bytes(exact));
  }
}

INSTANTIATE_TEST_SUITE_P(Decoders, GenerationTest, ::testing::ValuesIn(kDecoders),
                         [](const auto& info) { return LettersOf(info.param); });

TEST(GeneratorOptionsTest, RefusesWhatCannotBe) {
  GeneratorOptions options;
  options.max_rows = 0;
  const auto no_rows = Generator::Load(InModels(kDecoders[0]), {}, options);
  EXPECT_EQ(no_rows.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(no_rows.status().message(), HasSubstr("max_rows: expected a number above 0"));
  options.max_rows = 1;
  options.draft = InModels("no-such-folder");
  EXPECT_EQ(Generator::Load(InModels(kDecoders[0]), {}, options).status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace attnrun::testing
