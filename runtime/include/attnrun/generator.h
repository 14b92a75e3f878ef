// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_GENERATOR_H_
#define ATTNRUN_GENERATOR_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "attnrun/export.h"
#include "attnrun/generation_config.h"
#include "attnrun/session.h"
#include "attnrun/tensor.h"

namespace attnrun {

// One prompt.
struct GenerationRequest {
  // For an encoder-decoder these are the decoder's first ids. If empty, the configuration gives
  // them.
  TokenIds prompt;
  // The text that an encoder reads.
  TokenIds encoder_ids;
  // Other inputs of an encoder, with a batch of 1.
  TensorMap encoder_inputs;
};

enum class FinishReason : uint8_t {
  // The most tokens allowed are there.
  kLength,
  // A stop token or a stop sequence came.
  kStop,
};

// "length" or "stop".
ATTNRUN_EXPORT absl::string_view Name(FinishReason reason);

struct GeneratedSequence {
  // Number of ids that the decoder started with.
  int64_t prompt_tokens = 0;
  // The new tokens, with the stop token if there is one.
  TokenIds tokens;
  // A beam search gives the sum of the processed log-probabilities over a power of the length, as
  // transformers' sequences_scores; the others the sum of the model's log-probabilities.
  double score = 0;
  FinishReason finish = FinishReason::kLength;
  // With GenerateOptions::top_candidates, for each token: the most probable candidates after all
  // processors, the best first, and their log-probabilities. Not from a beam search.
  std::vector<std::vector<std::pair<int64_t, float>>> candidates;
};

struct GenerationResult {
  // By request, num_return_sequences of each, the best first.
  std::vector<GeneratedSequence> sequences;
  // Steps of different requests that run together count once.
  absl::Duration time_to_first_token;
  double prompt_tokens_per_second = 0;
  // The tokens after the first of each sequence.
  double decode_tokens_per_second = 0;
  // Ids of prompts that were not read, because rows that began alike had read them.
  int64_t reused_tokens = 0;
  // Tokens that were guessed, and those of them that were right.
  int64_t guessed_tokens = 0;
  int64_t accepted_tokens = 0;
  // The most memory that caches of the requests took at once.
  size_t state_bytes = 0;
};

struct GeneratorOptions {
  // A smaller decoder with the same vocabulary, a file or folder as for Generator::Load. It guesses
  // tokens, which the model checks, several in one step; the tokens stay the same. Empty: none.
  std::string draft;
  // Memory for the caches of requests that are over, the least recently used of which make place
  // for new ones. A request that begins like one of them, or like one that runs, does not read the
  // same ids again.
  size_t prefix_cache_bytes = size_t{256} << 20;
  // The requests of all threads run together, step by step: a step reads one more token of each
  // sequence, and as many ids of prompts as it has place for.
  int64_t max_step_tokens = 512;
  // The sequences that run together; more wait.
  int64_t max_rows = 64;
  // Generate fails with kUnavailable while so many prompts wait.
  int64_t max_waiting = 1024;
};

struct GenerateOptions {
  // Generate fails with kDeadlineExceeded after this time.
  absl::Time deadline = absl::InfiniteFuture();
  // Generate fails with kCancelled once this is true. May be null.
  const std::atomic<bool>* cancel = nullptr;
  // Called with each token as soon as it is certain, on the thread that called Generate; `sequence`
  // is its place in the result. Not by a beam search. May be empty.
  std::function<void(size_t sequence, int64_t token)> on_token;
  int64_t top_candidates = 0;
};

// Generates tokens with a decoder, or an encoder and a decoder. The tokens of a request do not
// depend on other requests, on what is reused or guessed, on the number of threads, or on how the
// prompt is cut. Generate may be called from many threads at once; their requests run together.
class ATTNRUN_EXPORT Generator {
 public:
  // Reads a decoder (an .onnx file) or a folder; docs/generation.md lists the files. Errors as in
  // Session::Load; also kNotFound for a folder without a decoder, kInvalidArgument for a
  // configuration that cannot be read, a model that is no decoder, and options that are not
  // positive.
  static absl::StatusOr<Generator> Load(const std::string& path, const SessionOptions& options = {},
                                        const GeneratorOptions& generation = {});

  Generator(Generator&&) noexcept;
  Generator& operator=(Generator&&) noexcept;
  ~Generator();

  // The settings that the folder gives.
  const GenerationConfig& config() const;

  // The decoder that reads a cache, if there is one, and its file.
  const Session& decoder() const;
  const std::string& decoder_file() const;

  // The inputs of the encoder; empty for a decoder alone.
  const std::vector<ValueInfo>& encoder_inputs() const;

  // kInvalidArgument for settings or requests that cannot be, such as ids outside the vocabulary or
  // a prompt longer than the model allows; kUnavailable if too many prompts wait.
  absl::StatusOr<GenerationResult> Generate(const std::vector<GenerationRequest>& requests,
                                            const GenerationConfig& config,
                                            const GenerateOptions& options = {}) const;

 private:
  class Impl;
  explicit Generator(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace attnrun

#endif  // ATTNRUN_GENERATOR_H_
