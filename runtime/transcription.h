// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_RUNTIME_TRANSCRIPTION_H_
#define ATTNRUN_RUNTIME_TRANSCRIPTION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "attnrun/generator.h"
#include "attnrun/model_info.h"

namespace attnrun {

// The frames of a window of Whisper's encoder: two for each of the `positions` that the
// configuration gives it, or the declared extent. nullopt if neither says.
std::optional<int64_t> WindowFrames(const std::vector<ValueInfo>& encoder_inputs,
                                    std::optional<int64_t> positions);

// A window of the audio of request `number`.
struct AudioWindow {
  size_t number = 0;
  GenerationRequest request;
};

// Searches for continuations of windows, and sets the ids that the decoder started with as prompts.
using Transcribe = std::function<absl::StatusOr<GenerationResult>(std::vector<AudioWindow>& windows,
                                                                  const GenerationConfig& config)>;

// Transcribes audio of any length in windows of `frames`, as transformers' generate does for
// Whisper: a window begins where the timestamps of the last one say that its speech ends, and
// silence fills the last one. Audio of several windows gets timestamps also where the configuration
// wants none. `on_token` may be empty; it gets the tokens of a window at its end, as some do not
// stay. kInvalidArgument for audio of several windows without a token for timestamps, or with
// several sequences for each request.
absl::StatusOr<GenerationResult> TranscribeWindows(
    const std::vector<GenerationRequest>& requests, const GenerationConfig& config, int64_t frames,
    const Transcribe& transcribe, const std::function<void(size_t, int64_t)>& on_token);

}  // namespace attnrun

#endif  // ATTNRUN_RUNTIME_TRANSCRIPTION_H_
