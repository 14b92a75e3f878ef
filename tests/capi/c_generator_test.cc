// SPDX-License-Identifier: Apache-2.0
// Generation by the C API, with a decoder that counts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "capi/counting_decoder.h"
#include "capi/handles.h"
#include "loader/model_maker.h"

namespace attnrun::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class CGeneratorTest : public ::testing::Test {
 protected:
  CGeneratorTest() {
    folder_.Write("model.onnx", CountingDecoder());
    folder_.Write("config.json", R"({"eos_token_id": 7, "max_position_embeddings": 20})");
    generator_ = Made<attnrun_generator>([&](attnrun_generator** made) {
      return attnrun_generator_load(folder_.path(".").c_str(), nullptr, nullptr, made);
    });
    options_ = Made<attnrun_generate_options>(attnrun_generate_options_new);
  }

  static Handle<attnrun_generation_request> Request(const std::vector<int64_t>& prompt) {
    return Made<attnrun_generation_request>([&](attnrun_generation_request** made) {
      return attnrun_generation_request_new(prompt.data(), prompt.size(), made);
    });
  }

  // Continues the prompts; the result is in result_, and what went wrong is returned.
  std::string Generate(const std::vector<std::vector<int64_t>>& prompts, const char* config) {
    std::vector<Handle<attnrun_generation_request>> owners;
    std::vector<const attnrun_generation_request*> requests;
    for (const std::vector<int64_t>& prompt : prompts) {
      owners.push_back(Request(prompt));
      requests.push_back(owners.back().get());
    }
    attnrun_generation_result* result = nullptr;
    const std::string told = Told(attnrun_generator_generate(
        generator_.get(), requests.data(), requests.size(), config, options_.get(), &result));
    result_.reset(result);
    return told;
  }

  std::vector<int64_t> Tokens(size_t sequence) const {
    size_t count = 0;
    const int64_t* tokens = attnrun_generation_result_tokens(result_.get(), sequence, &count);
    return {tokens, tokens + count};
  }

  const TemporaryFolder folder_;
  Handle<attnrun_generator> generator_;
  Handle<attnrun_generate_options> options_;
  Handle<attnrun_generation_result> result_;
};

TEST_F(CGeneratorTest, ContinuesRequests) {
  ASSERT_EQ(Generate({{1, 2}, {5}}, R"({"max_new_tokens": 3})"), "");
  ASSERT_EQ(attnrun_generation_result_sequence_count(result_.get()), 2U);
  EXPECT_THAT(Tokens(0), ElementsAre(3, 4, 5));
  EXPECT_STREQ(attnrun_generation_result_finish(result_.get(), 0), "length");
  EXPECT_EQ(attnrun_generation_result_prompt_tokens(result_.get(), 0), 2U);
  // The folder's stop token.
  EXPECT_THAT(Tokens(1), ElementsAre(6, 7));
  EXPECT_STREQ(attnrun_generation_result_finish(result_.get(), 1), "stop");
  EXPECT_LT(attnrun_generation_result_score(result_.get(), 1), 0);
  EXPECT_GT(attnrun_generation_result_metric(result_.get(), "time_to_first_token"), 0);
  EXPECT_EQ(attnrun_generation_result_metric(result_.get(), "beauty"), -1);
}

TEST_F(CGeneratorTest, ListsCandidates) {
  attnrun_generate_options_set_top_candidates(options_.get(), 2);
  ASSERT_EQ(Generate({{3}}, R"({"max_new_tokens": 2})"), "");
  ASSERT_EQ(attnrun_generation_result_candidate_count(result_.get(), 0, 1), 2U);
  EXPECT_EQ(attnrun_generation_result_candidate_count(result_.get(), 0, 2), 0U);
  float best = 0;
  float next = 0;
  EXPECT_EQ(attnrun_generation_result_candidate(result_.get(), 0, 1, 0, &best), 5);
  EXPECT_EQ(attnrun_generation_result_candidate(result_.get(), 0, 1, 1, &next), 6);
  EXPECT_NEAR(best - next, 1, 1e-6);
}

TEST_F(CGeneratorTest, StreamsTokensAndIsCancelled) {
  struct Stream {
    attnrun_generate_options* options;
    std::vector<int64_t> tokens;
  } stream = {options_.get(), {}};
  const auto receive = [](void* context, size_t /*sequence*/, int64_t token) {
    auto* to = static_cast<Stream*>(context);
    to->tokens.push_back(token);
    if (token == 4) attnrun_generate_options_set_cancelled(to->options, 1);
  };
  attnrun_generate_options_set_on_token(options_.get(), receive, &stream);
  EXPECT_THAT(Generate({{1}}, nullptr), StartsWith("1: "));
  EXPECT_EQ(result_, nullptr);
  EXPECT_THAT(stream.tokens, ElementsAre(2, 3, 4));
  attnrun_generate_options_set_cancelled(options_.get(), 0);
  attnrun_generate_options_set_timeout(options_.get(), 0);
  EXPECT_THAT(Generate({{1}}, nullptr), StartsWith("4: "));
}

TEST_F(CGeneratorTest, OptionsAreChecked) {
  const auto options = Made<attnrun_generator_options>(attnrun_generator_options_new);
  EXPECT_EQ(Told(attnrun_generator_options_set_limit(options.get(), "max_rows", 1)), "");
  EXPECT_THAT(Told(attnrun_generator_options_set_limit(options.get(), "rows", 1)),
              AllOf(StartsWith("3: "), HasSubstr("rows"), HasSubstr("max_waiting")));
  EXPECT_THAT(Told(attnrun_generator_options_set_limit(options.get(), "max_rows", -1)),
              AllOf(StartsWith("3: "), HasSubstr("found -1")));
  EXPECT_EQ(Told(attnrun_generator_options_set_draft(options.get(), "/nowhere")), "");
  attnrun_generator* generator = nullptr;
  EXPECT_THAT(
      Told(attnrun_generator_load(folder_.path(".").c_str(), nullptr, options.get(), &generator)),
      AllOf(StartsWith("5: "), HasSubstr("/nowhere")));
  EXPECT_EQ(generator, nullptr);
}

TEST_F(CGeneratorTest, RefusesWhatCannotBe) {
  EXPECT_THAT(Generate({{1}}, R"({"top_q": 1})"), AllOf(StartsWith("3: "), HasSubstr("top_q")));
  EXPECT_THAT(Generate({{1}}, "top_k"), StartsWith("3: expected a JSON object"));
  EXPECT_THAT(Generate({{8}}, nullptr), AllOf(StartsWith("3: "), HasSubstr("found 8")));
  EXPECT_EQ(Told(attnrun_generation_request_new(nullptr, 1, nullptr)), "3: request is NULL");
  attnrun_generation_request* request = nullptr;
  EXPECT_EQ(Told(attnrun_generation_request_new(nullptr, 1, &request)), "3: prompt is NULL");
  EXPECT_EQ(request, nullptr);
  attnrun_generator* generator = nullptr;
  EXPECT_THAT(Told(attnrun_generator_load("/nowhere", nullptr, nullptr, &generator)),
              StartsWith("5: "));
}

}  // namespace
}  // namespace attnrun::testing
