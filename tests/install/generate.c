// SPDX-License-Identifier: Apache-2.0
// A C program that generates tokens: requests together and alone, a stream of tokens, limits, errors.
// usage: generate DECODER
#include <attnrun/c_generator.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"

enum { NEW = 8 };
static const char kConfig[] = "{\"max_new_tokens\": 8, \"do_sample\": false}";

// Receives the tokens of the first sequence. Cancels the generation after `most`.
struct stream {
  attnrun_generate_options* options;
  int64_t tokens[NEW];
  size_t count;
  size_t most;
};

static void receive(void* context, size_t sequence, int64_t token) {
  struct stream* stream = context;
  if (sequence != 0) return;
  EXPECT(stream->count < NEW);
  stream->tokens[stream->count++] = token;
  if (stream->count == stream->most) attnrun_generate_options_set_cancelled(stream->options, 1);
}

static int same_tokens(const attnrun_generation_result* a, size_t i,
                       const attnrun_generation_result* b, size_t j) {
  size_t count_a = 0;
  size_t count_b = 0;
  const int64_t* tokens_a = attnrun_generation_result_tokens(a, i, &count_a);
  const int64_t* tokens_b = attnrun_generation_result_tokens(b, j, &count_b);
  return count_a == NEW && count_b == NEW &&
         memcmp(tokens_a, tokens_b, sizeof(int64_t[NEW])) == 0;
}

// The tokens of a request are the same alone and together with another one.
static void generate_together(const attnrun_generator* generator,
                              const attnrun_generation_request* const* requests,
                              attnrun_generation_result** together) {
  size_t i;
  CHECK(attnrun_generator_generate(generator, requests, 2, kConfig, NULL, together));
  EXPECT(attnrun_generation_result_sequence_count(*together) == 2);
  for (i = 0; i < 2; ++i) {
    attnrun_generation_result* alone = NULL;
    CHECK(attnrun_generator_generate(generator, &requests[i], 1, kConfig, NULL, &alone));
    EXPECT(same_tokens(*together, i, alone, 0));
    EXPECT(attnrun_generation_result_score(*together, i) ==
           attnrun_generation_result_score(alone, 0));
    EXPECT(strcmp(attnrun_generation_result_finish(alone, 0), "length") == 0);
    attnrun_generation_result_free(alone);
  }
  EXPECT(attnrun_generation_result_prompt_tokens(*together, 0) == 3);
  EXPECT(attnrun_generation_result_prompt_tokens(*together, 1) == 1);
}

static void generate_with_options(const attnrun_generator* generator,
                                  const attnrun_generation_request* const* requests,
                                  const attnrun_generation_result* expected) {
  attnrun_generate_options* options = NULL;
  attnrun_generation_result* result = NULL;
  const int64_t* tokens = attnrun_generation_result_tokens(expected, 0, NULL);
  struct stream stream;
  CHECK(attnrun_generate_options_new(&options));
  memset(&stream, 0, sizeof stream);
  stream.options = options;
  attnrun_generate_options_set_on_token(options, receive, &stream);
  attnrun_generate_options_set_top_candidates(options, 2);
  CHECK(attnrun_generator_generate(generator, requests, 2, kConfig, options, &result));
  EXPECT(stream.count == NEW && memcmp(stream.tokens, tokens, sizeof stream.tokens) == 0);
  EXPECT(attnrun_generation_result_candidate_count(result, 0, NEW - 1) == 2);
  EXPECT(attnrun_generation_result_candidate(result, 0, NEW - 1, 0, NULL) == tokens[NEW - 1]);
  EXPECT(attnrun_generation_result_metric(result, "decode_tokens_per_second") > 0);
  attnrun_generation_result_free(result);
  result = NULL;

  stream.count = 0;
  stream.most = 3;
  expect_code(attnrun_generator_generate(generator, requests, 2, kConfig, options, &result),
              ATTNRUN_CANCELLED);
  EXPECT(stream.count == 3 && memcmp(stream.tokens, tokens, sizeof(int64_t[3])) == 0);
  attnrun_generate_options_set_cancelled(options, 0);
  attnrun_generate_options_set_on_token(options, NULL, NULL);
  attnrun_generate_options_set_timeout(options, 0);
  expect_code(attnrun_generator_generate(generator, requests, 2, kConfig, options, &result),
              ATTNRUN_DEADLINE_EXCEEDED);
  EXPECT(result == NULL);
  attnrun_generate_options_free(options);
}

int main(int argc, char** argv) {
  const int64_t prompt[3] = {1, 2, 3};
  const int64_t beyond = 1000000000;
  attnrun_generator_options* options = NULL;
  attnrun_generator* generator = NULL;
  attnrun_generation_request* requests[2] = {NULL, NULL};
  attnrun_generation_request* bad = NULL;
  attnrun_generation_result* result = NULL;
  attnrun_generation_result* none = NULL;
  const attnrun_generation_request* given[2];
  EXPECT(argc == 2);
  expect_code(attnrun_generator_load("/nowhere", NULL, NULL, &generator), ATTNRUN_NOT_FOUND);
  CHECK(attnrun_generator_options_new(&options));
  expect_code(attnrun_generator_options_set_limit(options, "rows", 2), ATTNRUN_INVALID_ARGUMENT);
  CHECK(attnrun_generator_options_set_limit(options, "max_rows", 2));
  CHECK(attnrun_generator_load(argv[1], NULL, options, &generator));
  attnrun_generator_options_free(options);
  EXPECT(attnrun_generator_encoder_input_count(generator) == 0);
  CHECK(attnrun_generation_request_new(prompt, 3, &requests[0]));
  CHECK(attnrun_generation_request_new(prompt + 2, 1, &requests[1]));
  given[0] = requests[0];
  given[1] = requests[1];
  generate_together(generator, given, &result);
  generate_with_options(generator, given, result);

  expect_code(attnrun_generator_generate(generator, given, 2, "{\"top_q\": 1}", NULL, &none),
              ATTNRUN_INVALID_ARGUMENT);
  expect_code(attnrun_generator_generate(generator, given, 2, "top_k", NULL, &none),
              ATTNRUN_INVALID_ARGUMENT);
  CHECK(attnrun_generation_request_new(&beyond, 1, &bad));
  given[1] = bad;
  expect_code(attnrun_generator_generate(generator, given, 2, NULL, NULL, &none),
              ATTNRUN_INVALID_ARGUMENT);
  EXPECT(none == NULL);
  attnrun_generation_request_free(bad);
  attnrun_generation_result_free(result);
  attnrun_generation_request_free(requests[0]);
  attnrun_generation_request_free(requests[1]);
  attnrun_generator_free(generator);
  return 0;
}
