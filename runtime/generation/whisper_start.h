// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_GENERATION_WHISPER_START_H_
#define ATTNRUN_GENERATION_WHISPER_START_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "attnrun/generation_config.h"
#include "generation/decoder.h"

namespace attnrun::gen {

// The ids that Whisper's decoder starts with, as transformers' generate makes them: `start`, the
// language, the task, and <|notimestamps|> unless timestamps are wanted. `detect` gives the id of
// the language where the configuration names none and has lang_to_id. kInvalidArgument for a
// language or a task that the model does not know.
absl::StatusOr<TokenIds> WhisperStart(int64_t start, const GenerationConfig& config,
                                      absl::FunctionRef<absl::StatusOr<int64_t>()> detect);

// The id in lang_to_id, which must have some, with the greatest of the logits behind the start
// token alone. kInvalidArgument for an id beyond the vocabulary.
absl::StatusOr<int64_t> MostProbableLanguage(const Logits& logits, const GenerationConfig& config);

}  // namespace attnrun::gen

#endif  // ATTNRUN_GENERATION_WHISPER_START_H_
