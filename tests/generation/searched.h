// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_GENERATION_SEARCHED_H_
#define ATTNRUN_TESTS_GENERATION_SEARCHED_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "generation/fake_decoder.h"
#include "generation/scheduler.h"

namespace attnrun::gen {

// `new_tokens` may follow each prompt.
inline std::vector<Task> TasksOf(const std::vector<TokenIds>& prompts, int64_t new_tokens) {
  std::vector<Task> tasks;
  for (const TokenIds& ids : prompts) {
    const auto length = static_cast<int64_t>(ids.size());
    tasks.push_back({{ids, {length, length + new_tokens, {}}},
                     [](int64_t) { return FakeDecoder::NewRow(); },
                     true});
  }
  return tasks;
}

// The continuations of prompts by a scheduler of their own.
inline absl::StatusOr<std::vector<GeneratedSequence>> TriedSearch(
    const FakeDecoder& decoder, const std::vector<TokenIds>& prompts,
    const GenerationConfig& config, int64_t new_tokens) {
  Scheduler scheduler(decoder, {}, {});
  SearchSettings settings;
  settings.config = config;
  GenerationResult result;
  absl::Status status = scheduler.Run(TasksOf(prompts, new_tokens), settings, {}, nullptr, result);
  if (!status.ok()) return status;
  return result.sequences;
}

// The same, where nothing fails.
inline std::vector<GeneratedSequence> Searched(const FakeDecoder& decoder,
                                               const std::vector<TokenIds>& prompts,
                                               const GenerationConfig& config, int64_t new_tokens) {
  auto found = TriedSearch(decoder, prompts, config, new_tokens);
  EXPECT_TRUE(found.ok()) << found.status();
  return found.ok() ? *std::move(found) : std::vector<GeneratedSequence>();
}

}  // namespace attnrun::gen

#endif  // ATTNRUN_TESTS_GENERATION_SEARCHED_H_
