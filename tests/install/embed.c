// SPDX-License-Identifier: Apache-2.0
// A C program that runs a BERT: inputs by what the model declares, results into memory of its own, limits, errors.
// usage: embed MODEL
#include <attnrun/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"

enum { LENGTH = 3, MOST_INPUTS = 8 };

// The inputs of one request: ones of int64 [1, LENGTH], by the names that the model declares.
struct request {
  const char* names[MOST_INPUTS];
  const attnrun_tensor* tensors[MOST_INPUTS];
  size_t count;
};

static struct request make_request(const attnrun_model_info* model) {
  static const int64_t ones[LENGTH] = {1, 1, 1};
  const int64_t shape[2] = {1, LENGTH};
  struct request request;
  size_t i;
  request.count = attnrun_model_info_input_count(model);
  EXPECT(request.count <= MOST_INPUTS);
  for (i = 0; i < request.count; ++i) {
    const attnrun_value_info* input = attnrun_model_info_input(model, i);
    attnrun_tensor* tensor = NULL;
    EXPECT(attnrun_value_info_type(input) == ATTNRUN_TYPE_INT64);
    EXPECT(attnrun_value_info_rank(input) == 2);
    CHECK(attnrun_tensor_borrow(ATTNRUN_TYPE_INT64, 2, shape, NULL, ones, sizeof ones, &tensor));
    request.names[i] = attnrun_value_info_name(input);
    request.tensors[i] = tensor;
  }
  return request;
}

static void free_request(struct request* request) {
  size_t i;
  for (i = 0; i < request->count; ++i) attnrun_tensor_free((attnrun_tensor*)request->tensors[i]);
}

static attnrun_status* run(const attnrun_session* session, const attnrun_run_options* options,
                           const struct request* request, attnrun_tensor** result) {
  const char* name = "last_hidden_state";
  return attnrun_session_run(session, options, request->names, request->tensors, request->count,
                             &name, result, 1);
}

// A run into memory of the program gives the same numbers as one into a new tensor.
static void run_into_memory(const attnrun_session* session, const struct request* request) {
  attnrun_tensor* made = NULL;
  attnrun_tensor* given = NULL;
  const int64_t* shape;
  float* memory;
  CHECK(run(session, NULL, request, &made));
  EXPECT(attnrun_tensor_type(made) == ATTNRUN_TYPE_FLOAT && attnrun_tensor_rank(made) == 3);
  shape = attnrun_tensor_shape(made);
  EXPECT(shape[0] == 1 && shape[1] == LENGTH && shape[2] == 32);
  memory = malloc(attnrun_tensor_byte_size(made));
  EXPECT(memory != NULL);
  CHECK(attnrun_tensor_borrow_mutable(ATTNRUN_TYPE_FLOAT, 3, shape, NULL, memory,
                                      attnrun_tensor_byte_size(made), &given));
  CHECK(run(session, NULL, request, &given));
  EXPECT(memcmp(memory, attnrun_tensor_data(made), attnrun_tensor_byte_size(made)) == 0);
  attnrun_tensor_free(given);
  attnrun_tensor_free(made);
  free(memory);
}

static void run_with_limits(const attnrun_session* session, const struct request* request) {
  attnrun_run_options* options = NULL;
  attnrun_tensor* result = NULL;
  CHECK(attnrun_run_options_new(&options));
  attnrun_run_options_set_cancelled(options, 1);
  expect_code(run(session, options, request, &result), ATTNRUN_CANCELLED);
  attnrun_run_options_set_cancelled(options, 0);
  attnrun_run_options_set_timeout(options, 0);
  expect_code(run(session, options, request, &result), ATTNRUN_DEADLINE_EXCEEDED);
  attnrun_run_options_set_timeout(options, 60000000);
  attnrun_run_options_set_memory_limit(options, 16);
  expect_code(run(session, options, request, &result), ATTNRUN_RESOURCE_EXHAUSTED);
  EXPECT(result == NULL);
  attnrun_run_options_set_memory_limit(options, 0);
  CHECK(run(session, options, request, &result));
  attnrun_tensor_free(result);
  attnrun_run_options_free(options);
}

int main(int argc, char** argv) {
  attnrun_session_options* options = NULL;
  attnrun_session* session = NULL;
  struct request request;
  EXPECT(argc == 2);
  EXPECT(strcmp(attnrun_version(), ATTNRUN_VERSION) == 0);
  CHECK(attnrun_session_options_new(&options));
  attnrun_session_options_set_threads(options, 2);
  expect_code(attnrun_session_load("/nowhere.onnx", options, &session), ATTNRUN_NOT_FOUND);
  CHECK(attnrun_session_load(argv[1], options, &session));
  attnrun_session_options_free(options);
  EXPECT(attnrun_session_threads(session) == 2);
  request = make_request(attnrun_session_model(session));
  run_into_memory(session, &request);
  run_with_limits(session, &request);
  free_request(&request);
  attnrun_session_free(session);
  puts("embed: all is well");
  return 0;
}
