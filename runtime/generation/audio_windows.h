// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_GENERATION_AUDIO_WINDOWS_H_
#define ATTNRUN_GENERATION_AUDIO_WINDOWS_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "attnrun/generation_config.h"
#include "attnrun/generator.h"

// Whisper reads audio in windows. As in transformers, timestamps say where the next one begins.
namespace attnrun::gen {

// The part of a window that its tokens have transcribed.
struct WindowEnd {
  // The tokens from the first on that stay.
  int64_t tokens = 0;
  // The frames that the next window leaves out.
  int64_t frames = 0;
};

// The end of a window of `frames`, of which two take the time of a timestamp. Two timestamps in a
// row end one piece of speech and begin the next. If the window ends amid that one, without another
// timestamp, the next window begins there and reads it anew. `tokens` has no stop token. Without
// `first_timestamp` no token is a timestamp.
WindowEnd EndOfWindow(absl::Span<const int64_t> tokens, std::optional<int64_t> first_timestamp,
                      int64_t frames);

// Appends to `whole` the tokens that stay of `window`, which has `frames` of the `left` ones, and
// the stop token if it is the last. Returns the frames that are transcribed.
int64_t AppendWindow(const GeneratedSequence& window, const GenerationConfig& config,
                     int64_t frames, int64_t left, GeneratedSequence& whole);

}  // namespace attnrun::gen

#endif  // ATTNRUN_GENERATION_AUDIO_WINDOWS_H_
