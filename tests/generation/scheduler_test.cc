// SPDX-License-Identifier: Apache-2.0
// Requests together: each gets the tokens that it gets alone, whatever else runs, is reused or
// guessed.
#include "generation/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "generation/searched.h"

namespace attnrun::gen {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kVocabulary = 23;
constexpr int64_t kNew = 12;

GenerationConfig RandomConfig(std::mt19937& random) {
  GenerationConfig config;
  switch (random() % 4) {
    case 0:
      config.do_sample = true;
      config.num_return_sequences = 1 + static_cast<int64_t>(random() % 3);
      config.seed = random();
      break;
    case 1:
      config.num_beams = 2 + static_cast<int64_t>(random() % 3);
      break;
    case 2:
      config.prompt_lookup_num_tokens = 1 + static_cast<int64_t>(random() % 5);
      break;
    default:
      config.repetition_penalty = 1.2;
  }
  config.prefill_chunk_size = static_cast<int64_t>(random() % 4);
  config.eos_token_id = {3};
  return config;
}

std::vector<TokenIds> RandomPrompts(std::mt19937& random) {
  std::vector<TokenIds> prompts(1 + random() % 3);
  for (TokenIds& prompt : prompts) {
    // Many begin alike.
    prompt.assign(random() % 50, 7);
    for (size_t i = 1 + random() % 9; i > 0; --i) prompt.push_back(random() % kVocabulary);
  }
  return prompts;
}

std::vector<TokenIds> TokensOf(const std::vector<GeneratedSequence>& sequences) {
  std::vector<TokenIds> tokens;
  for (const GeneratedSequence& sequence : sequences) tokens.push_back(sequence.tokens);
  return tokens;
}

absl::StatusOr<GenerationResult> Generated(Scheduler& scheduler,
                                           const std::vector<TokenIds>& prompts,
                                           const GenerationConfig& config,
                                           const RunOptions& run = {}) {
  SearchSettings settings;
  settings.config = config;
  GenerationResult result;
  absl::Status status = scheduler.Run(TasksOf(prompts, kNew), settings, run, nullptr, result);
  if (!status.ok()) return status;
  return result;
}

TEST(SchedulerTest, RandomRequestsOfManyThreadsGetTheTokensOfARequestAlone) {
  const FakeDecoder decoder(kVocabulary);
  const FakeDecoder small(kVocabulary);
  DraftModel draft;
  draft.decoder = &small;
  draft.new_row = [](int64_t) { return FakeDecoder::NewRow(); };
  GeneratorOptions options;
  options.max_step_tokens = 24;
  options.max_rows = 7;
  options.prefix_cache_bytes = 2000;
  Scheduler scheduler(decoder, draft, options);
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&scheduler, t] {
      std::mt19937 random(t);
      for (int i = 0; i < 40; ++i) {
        const std::vector<TokenIds> prompts = RandomPrompts(random);
        const GenerationConfig config = RandomConfig(random);
        const absl::StatusOr<GenerationResult> together = Generated(scheduler, prompts, config);
        ASSERT_TRUE(together.ok()) << together.status();
        const FakeDecoder alone(kVocabulary);
        ASSERT_EQ(TokensOf(together->sequences), TokensOf(Searched(alone, prompts, config, kNew)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(decoder.most_rows, 7u);
}

TEST(SchedulerTest, AStepReadsNoMoreIdsThanAllowed) {
  const FakeDecoder decoder(kVocabulary);
  GeneratorOptions options;
  options.max_step_tokens = 10;
  Scheduler scheduler(decoder, {}, options);
  ASSERT_TRUE(Generated(scheduler, {TokenIds(25, 1), TokenIds(8, 2), TokenIds(8, 4)}, {}).ok());
  EXPECT_EQ(decoder.most_ids, 10u);
  EXPECT_EQ(decoder.most_rows, 3u);
}

TEST(SchedulerTest, APromptThatIsReadWholeIsReadInOneStepByEachRequest) {
  const FakeDecoder decoder(kVocabulary);
  GeneratorOptions options;
  options.max_step_tokens = 10;
  Scheduler scheduler(decoder, {}, options);
  SearchSettings settings;
  settings.config.prefill_chunk_size = 4;
  for (int i = 0; i < 2; ++i) {
    std::vector<Task> tasks = TasksOf({TokenIds(25, 1)}, kNew);
    tasks[0].new_row = [](int64_t) { return FakeDecoder::NewWholeRow(); };
    GenerationResult result;
    ASSERT_TRUE(scheduler.Run(std::move(tasks), settings, {}, nullptr, result).ok());
    EXPECT_EQ(result.reused_tokens, 0);
  }
  EXPECT_EQ(decoder.most_ids, 25u);
}

TEST(SchedulerTest, ASecondRequestDoesNotReadTheSamePrefix) {
  const FakeDecoder decoder(kVocabulary);
  Scheduler scheduler(decoder, {}, {});
  TokenIds prompt(40, 5);
  ASSERT_TRUE(Generated(scheduler, {prompt}, {}).ok());
  const int64_t before = decoder.ids_read;
  prompt.insert(prompt.end(), {1, 2, 9});
  const absl::StatusOr<GenerationResult> result = Generated(scheduler, {prompt}, {});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->reused_tokens, 40);
  EXPECT_EQ(decoder.ids_read - before, 3 + kNew - 1);
}

TEST(SchedulerTest, PromptsThatBeginAlikeAreReadOnce) {
  const FakeDecoder decoder(kVocabulary);
  GeneratorOptions options;
  options.prefix_cache_bytes = 0;
  Scheduler scheduler(decoder, {}, options);
  std::vector<TokenIds> prompts(4, TokenIds(100, 5));
  for (int64_t i = 0; i < 4; ++i) prompts[i].push_back(i);
  const absl::StatusOr<GenerationResult> result = Generated(scheduler, prompts, {});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->reused_tokens, 300);
  EXPECT_EQ(decoder.ids_read, 101 + 3 + 4 * (kNew - 1));
}

TEST(SchedulerTest, RightGuessesSaveSteps) {
  FakeDecoder decoder(kVocabulary);
  decoder.counts = true;
  Scheduler scheduler(decoder, {}, {});
  GenerationConfig config;
  const absl::StatusOr<GenerationResult> plain =
      Generated(scheduler, {{1, 2, 3, 4, 5, 6, 7, 8}}, config);
  const int plain_reads = decoder.reads;
  // The prompt counts up twice, and so does what follows.
  TokenIds prompt;
  for (int64_t i = 0; i < 2 * kVocabulary; ++i) prompt.push_back(i % kVocabulary);
  config.prompt_lookup_num_tokens = 4;
  const absl::StatusOr<GenerationResult> guessed = Generated(scheduler, {prompt}, config);
  ASSERT_TRUE(plain.ok() && guessed.ok());
  EXPECT_EQ(plain_reads, kNew);
  EXPECT_LE(decoder.reads - plain_reads, 4);
  EXPECT_EQ(guessed->accepted_tokens, guessed->guessed_tokens);
  EXPECT_EQ(guessed->sequences[0].tokens.size(), static_cast<size_t>(kNew));
}

TEST(SchedulerTest, AModelGuessesWhatItWouldSayItself) {
  const FakeDecoder decoder(kVocabulary);
  const FakeDecoder same(kVocabulary);
  DraftModel draft;
  draft.decoder = &same;
  draft.new_row = [](int64_t) { return FakeDecoder::NewRow(); };
  Scheduler scheduler(decoder, draft, {});
  const absl::StatusOr<GenerationResult> result = Generated(scheduler, {{4, 2}, {6}}, {});
  ASSERT_TRUE(result.ok());
  EXPECT_GT(result->guessed_tokens, 0);
  EXPECT_EQ(result->accepted_tokens, result->guessed_tokens);
  EXPECT_LE(decoder.reads, 3);
  EXPECT_EQ(TokensOf(result->sequences),
            TokensOf(Searched(FakeDecoder(kVocabulary), {{4, 2}, {6}}, {}, kNew)));
}

TEST(SchedulerTest, OneRequestsFaultIsNotAnothers) {
  FakeDecoder decoder(kVocabulary);
  decoder.bad_id = 22;
  Scheduler scheduler(decoder, {}, {});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const bool is_bad = t == 2;
      GenerationConfig config;
      config.suppress_tokens = {22};
      const TokenIds prompt = {1, 2, is_bad ? 22 : t};
      const absl::StatusOr<GenerationResult> result = Generated(scheduler, {prompt}, config);
      EXPECT_EQ(result.ok(), !is_bad) << result.status();
      if (!is_bad) return;
      EXPECT_THAT(result.status().message(), HasSubstr("the prompt: a bad id"));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(SchedulerTest, ACancelledCallLeavesOthersAlone) {
  FakeDecoder decoder(kVocabulary);
  std::atomic<bool> cancel = false;
  std::atomic<int> cancelled = 0;
  static thread_local bool is_cancelled = false;
  // Others could end a call before its own thread sees the flag: they wait until all have seen it.
  decoder.on_read = [&] {
    cancel = true;
    while (!is_cancelled && cancelled < 3) std::this_thread::yield();
  };
  Scheduler scheduler(decoder, {}, {});
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      is_cancelled = t % 2 == 0;
      RunOptions run;
      if (is_cancelled) run.cancel = &cancel;
      const std::vector<TokenIds> prompts = {TokenIds(t + 1, 3)};
      const absl::StatusOr<GenerationResult> result = Generated(scheduler, prompts, {}, run);
      if (is_cancelled) {
        EXPECT_TRUE(absl::IsCancelled(result.status())) << result.status();
        cancelled += 1;
        return;
      }
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_EQ(TokensOf(result->sequences),
                TokensOf(Searched(FakeDecoder(kVocabulary), prompts, {}, kNew)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(cancelled, 3);
}

TEST(SchedulerTest, RefusesACallWhenTooManyPromptsWait) {
  FakeDecoder decoder(kVocabulary);
  GeneratorOptions options;
  options.max_rows = 1;
  options.max_waiting = 2;
  Scheduler scheduler(decoder, {}, options);
  absl::Status second;
  decoder.on_read = [&] {
    if (decoder.reads > 1) return;
    std::thread([&] { second = Generated(scheduler, {{8}}, {}).status(); }).join();
  };
  EXPECT_TRUE(Generated(scheduler, {{1}, {2}, {3}}, {}).ok());
  EXPECT_EQ(second.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(second.message(), HasSubstr("2 prompts do, and the limit is 2"));
}

TEST(SchedulerTest, TokensComeOnTheThreadOfTheCall) {
  const FakeDecoder decoder(kVocabulary);
  Scheduler scheduler(decoder, {}, {});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      SearchSettings settings;
      settings.config.do_sample = true;
      settings.config.num_return_sequences = 2;
      std::vector<TokenIds> heard(4);
      const std::thread::id me = std::this_thread::get_id();
      const auto on_token = [&](size_t sequence, int64_t token) {
        EXPECT_EQ(std::this_thread::get_id(), me);
        heard[sequence].push_back(token);
      };
      GenerationResult result;
      ASSERT_TRUE(scheduler.Run(TasksOf({{1, 2}, {3}}, kNew), settings, {}, on_token, result).ok());
      EXPECT_EQ(heard, TokensOf(result.sequences));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace attnrun::gen
