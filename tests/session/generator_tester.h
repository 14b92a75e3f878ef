// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_SESSION_GENERATOR_TESTER_H_
#define ATTNRUN_TESTS_SESSION_GENERATOR_TESTER_H_

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "attnrun/generator.h"
#include "session/cache_models.h"

namespace attnrun::testing {

inline Generator Load(const TemporaryFolder& folder) {
  SessionOptions options;
  options.threads = 1;
  auto generator = Generator::Load(folder.path("."), options);
  EXPECT_TRUE(generator.ok()) << generator.status();
  return *std::move(generator);
}

inline TokenIds Generate(const Generator& generator, const GenerationRequest& request,
                         const GenerationConfig& config) {
  const auto result = generator.Generate({request}, config);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? result->sequences[0].tokens : TokenIds();
}

// The `count` most probable tokens behind `prompt`.
inline TokenIds Continue(const TemporaryFolder& folder, TokenIds prompt, int64_t count) {
  GenerationRequest request;
  request.prompt = std::move(prompt);
  GenerationConfig config;
  config.max_new_tokens = count;
  return Generate(Load(folder), request, config);
}

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_SESSION_GENERATOR_TESTER_H_
