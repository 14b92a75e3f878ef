// SPDX-License-Identifier: Apache-2.0
#include "attnrun/generation_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "generation/processor.h"

namespace attnrun::gen {
namespace {

using ::testing::HasSubstr;

struct Refused {
  const char* json;
  const char* said;
};

// Settings that JSON can express and that no search can honor.
TEST(GenerationConfigTest, RefusesSettingsOutOfRange) {
  const Refused refused[] = {
      // 0 and infinity in single precision, by which 0 and -infinity give NaN.
      {R"({"do_sample": true, "temperature": 1e-60})", "temperature"},
      {R"({"do_sample": true, "temperature": 1e300})", "temperature"},
      {R"({"do_sample": true, "temperature": 0})", "temperature"},
      {R"({"do_sample": true, "temperature": -1})", "temperature"},
      // The text before the timestamps would be empty, or have a negative length.
      {R"({"return_timestamps": true, "no_timestamps_token_id": -1})", "no_timestamps_token_id"},
      {R"({"return_timestamps": true, "no_timestamps_token_id": -9})", "no_timestamps_token_id"},
      {R"({"return_timestamps": true})", "no_timestamps_token_id"},
      {R"({"no_timestamps_token_id": 1e15})", "no_timestamps_token_id"},
      {R"({"max_initial_timestamp_index": -1})", "max_initial_timestamp_index"},
      {R"({"max_initial_timestamp_index": 1e15})", "max_initial_timestamp_index"},
      {R"({"exponential_decay_length_penalty": [-1e15, 1.5]})", "a start from -2^40"},
      {R"({"num_beams": 0})", "num_beams"},
      {R"({"num_beams": 1e9})", "num_beams"},
      {R"({"top_k": -1})", "top_k"},
      {R"({"top_p": 1.5})", "top_p"},
      {R"({"max_new_tokens": 0})", "max_new_tokens"},
      {R"({"stop_sequences": [[]]})", "stop_sequences"},
      {R"({"bad_words_ids": [[3], []]})", "bad_words_ids"},
  };
  for (const Refused& one : refused) {
    SCOPED_TRACE(one.json);
    GenerationConfig config;
    ASSERT_EQ(UpdateGenerationConfig(one.json, true, config), absl::OkStatus());
    const absl::Status status = CheckGenerationConfig(config);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(one.said));
  }
}

// Numbers that only C++ can give.
TEST(GenerationConfigTest, RefusesNumbersThatOverflow) {
  GenerationConfig config;
  config.no_timestamps_token_id = INT64_MAX;
  EXPECT_THAT(CheckGenerationConfig(config).message(), HasSubstr("no_timestamps_token_id"));
  config = {};
  config.exponential_decay_length_penalty = {2, std::nan("")};
  EXPECT_THAT(CheckGenerationConfig(config).message(),
              HasSubstr("exponential_decay_length_penalty: expected a finite number"));
  config.exponential_decay_length_penalty = {INT64_MIN, 2};
  EXPECT_THAT(CheckGenerationConfig(config).message(), HasSubstr("a start from -2^40"));
}

TEST(GenerationConfigTest, NullOfTheCallerTakesASettingBack) {
  constexpr absl::string_view kNull = R"({"forced_eos_token_id": null, "temperature": null})";
  GenerationConfig config;
  config.forced_eos_token_id = {2};
  config.temperature = 0.5;
  ASSERT_EQ(UpdateGenerationConfig(kNull, false, config), absl::OkStatus());
  EXPECT_EQ(config.temperature, 0.5);
  ASSERT_EQ(UpdateGenerationConfig(kNull, true, config), absl::OkStatus());
  EXPECT_EQ(config.temperature, GenerationConfig().temperature);
  EXPECT_EQ(config.forced_eos_token_id, GenerationConfig().forced_eos_token_id);
}

TEST(GenerationConfigTest, TheSmallestTemperatureKeepsScoresFinite) {
  GenerationConfig config;
  ASSERT_EQ(UpdateGenerationConfig(R"({"do_sample": true, "temperature": 1.2e-38, "top_k": 2})",
                                   true, config),
            absl::OkStatus());
  ASSERT_EQ(CheckGenerationConfig(config), absl::OkStatus());
  std::vector<float> scores = {0, 3, -2, 1e-3F};
  const absl::Status status = Processors(config, {1, 5, {}}).Apply({2}, absl::MakeSpan(scores));
  EXPECT_EQ(status, absl::OkStatus());
  EXPECT_GT(scores[1], scores[0]);
  EXPECT_LT(scores[1], std::numeric_limits<float>::infinity());
}

}  // namespace
}  // namespace attnrun::gen
