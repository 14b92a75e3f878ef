// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_C_GENERATOR_H_
#define ATTNRUN_C_GENERATOR_H_

// The part of the C API that generates tokens. attnrun/c.h says what holds for handles, errors,
// strings and threads.

#include <stddef.h>
#include <stdint.h>

#include "attnrun/c.h"
#include "attnrun/export.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- Generators ----

// The settings of attnrun::GeneratorOptions (attnrun/generator.h), with their defaults.
typedef struct attnrun_generator_options attnrun_generator_options;

ATTNRUN_EXPORT attnrun_status* attnrun_generator_options_new(attnrun_generator_options** options);
ATTNRUN_EXPORT void attnrun_generator_options_free(attnrun_generator_options* options);
// A smaller decoder that guesses tokens, a file or folder; "" for none.
ATTNRUN_EXPORT attnrun_status* attnrun_generator_options_set_draft(
    attnrun_generator_options* options, const char* path);
// "prefix_cache_bytes", "max_step_tokens", "max_rows" or "max_waiting". INVALID_ARGUMENT for a name
// that is none and a negative number.
ATTNRUN_EXPORT attnrun_status* attnrun_generator_options_set_limit(
    attnrun_generator_options* options, const char* name, int64_t limit);

// A decoder, or an encoder and a decoder. Calls of many threads run together.
typedef struct attnrun_generator attnrun_generator;

// `path` is a decoder's .onnx file or a folder; docs/generation.md lists the files. The options may
// be NULL, and may be freed afterwards.
ATTNRUN_EXPORT attnrun_status* attnrun_generator_load(
    const char* path, const attnrun_session_options* session_options,
    const attnrun_generator_options* options, attnrun_generator** generator);
// No attnrun_generator_generate may be under way.
ATTNRUN_EXPORT void attnrun_generator_free(attnrun_generator* generator);

// The inputs of the encoder; none for a decoder alone. NULL beyond the last.
ATTNRUN_EXPORT size_t attnrun_generator_encoder_input_count(const attnrun_generator* generator);
ATTNRUN_EXPORT const attnrun_value_info* attnrun_generator_encoder_input(
    const attnrun_generator* generator, size_t index);

// ---- Requests ----

// One prompt.
typedef struct attnrun_generation_request attnrun_generation_request;

// Copies the ids. For an encoder-decoder they are the decoder's first ids. If there are none, the
// configuration gives them.
ATTNRUN_EXPORT attnrun_status* attnrun_generation_request_new(const int64_t* prompt, size_t count,
                                                              attnrun_generation_request** request);
ATTNRUN_EXPORT void attnrun_generation_request_free(attnrun_generation_request* request);
// The text that an encoder reads. Copies the ids.
ATTNRUN_EXPORT attnrun_status* attnrun_generation_request_set_encoder_ids(
    attnrun_generation_request* request, const int64_t* ids, size_t count);
// Another input of an encoder, with a batch of 1. Shares the tensor's memory; the tensor may be
// freed.
ATTNRUN_EXPORT attnrun_status* attnrun_generation_request_set_encoder_input(
    attnrun_generation_request* request, const char* name, const attnrun_tensor* tensor);

// ---- Options ----

// The settings of attnrun::GenerateOptions (attnrun/generator.h). Several calls may use them at
// once.
typedef struct attnrun_generate_options attnrun_generate_options;

ATTNRUN_EXPORT attnrun_status* attnrun_generate_options_new(attnrun_generate_options** options);
ATTNRUN_EXPORT void attnrun_generate_options_free(attnrun_generate_options* options);
// attnrun_generator_generate fails with DEADLINE_EXCEEDED this long after it was called. Negative,
// as by default: it may take any time.
ATTNRUN_EXPORT void attnrun_generate_options_set_timeout(attnrun_generate_options* options,
                                                         int64_t microseconds);
// Unless 0, calls with these options end with CANCELLED: those under way, and those to come until
// it is 0 again. May be called from any thread at any time, also from an attnrun_token_function.
ATTNRUN_EXPORT void attnrun_generate_options_set_cancelled(attnrun_generate_options* options,
                                                           int cancelled);
// Receives each token as soon as it is certain, on the thread that called
// attnrun_generator_generate; `sequence` is its place in the result. Not by a beam search.
typedef void (*attnrun_token_function)(void* context, size_t sequence, int64_t token);
// NULL, as by default: none.
ATTNRUN_EXPORT void attnrun_generate_options_set_on_token(attnrun_generate_options* options,
                                                          attnrun_token_function on_token,
                                                          void* context);
// How many of the most probable tokens the result lists at each place. Not of a beam search.
ATTNRUN_EXPORT void attnrun_generate_options_set_top_candidates(attnrun_generate_options* options,
                                                                int64_t count);

// ---- Results ----

// The new tokens: of each request num_return_sequences sequences, by request, the best first.
typedef struct attnrun_generation_result attnrun_generation_result;

// Continues `count` requests, which run together. `config` is a JSON object with names of
// transformers' GenerationConfig and those that attnrun adds (attnrun/generation_config.h), such as
// {"max_new_tokens": 64, "do_sample": true, "top_p": 0.9, "seed": 7}. All other
// settings are as the model's folder says. `config` and `options` may be NULL.
ATTNRUN_EXPORT attnrun_status* attnrun_generator_generate(
    const attnrun_generator* generator, const attnrun_generation_request* const* requests,
    size_t count, const char* config, const attnrun_generate_options* options,
    attnrun_generation_result** result);
ATTNRUN_EXPORT void attnrun_generation_result_free(attnrun_generation_result* result);

ATTNRUN_EXPORT size_t
attnrun_generation_result_sequence_count(const attnrun_generation_result* result);

// In the following functions, `sequence` is below that count.

// The new tokens, with the stop token if there is one, and their number if `count` is not NULL.
ATTNRUN_EXPORT const int64_t* attnrun_generation_result_tokens(
    const attnrun_generation_result* result, size_t sequence, size_t* count);
// Number of ids that the decoder started with.
ATTNRUN_EXPORT size_t
attnrun_generation_result_prompt_tokens(const attnrun_generation_result* result, size_t sequence);
// See attnrun::GeneratedSequence::score.
ATTNRUN_EXPORT double attnrun_generation_result_score(const attnrun_generation_result* result,
                                                      size_t sequence);
// "length": the most tokens allowed are there. "stop": a stop token or a stop sequence came.
ATTNRUN_EXPORT const char* attnrun_generation_result_finish(const attnrun_generation_result* result,
                                                            size_t sequence);

// How many candidates there are at the place of the new token `position`.
ATTNRUN_EXPORT size_t attnrun_generation_result_candidate_count(
    const attnrun_generation_result* result, size_t sequence, size_t position);
// A candidate below that count, the most probable first, and its log-probability if
// `log_probability` is not NULL.
ATTNRUN_EXPORT int64_t attnrun_generation_result_candidate(const attnrun_generation_result* result,
                                                           size_t sequence, size_t position,
                                                           size_t rank, float* log_probability);

// A figure of attnrun::GenerationResult, whose fields are the names: "time_to_first_token", in
// seconds, "decode_tokens_per_second", "accepted_tokens" and so on. -1 for a name that is none.
ATTNRUN_EXPORT double attnrun_generation_result_metric(const attnrun_generation_result* result,
                                                       const char* name);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // ATTNRUN_C_GENERATOR_H_
