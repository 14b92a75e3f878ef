// SPDX-License-Identifier: Apache-2.0
#include "transcription.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "generation/audio_windows.h"
#include "generation/search.h"
#include "ops/tensors/strided_copy.h"

namespace attnrun {
namespace {

constexpr char kFeatures[] = "input_features";

// The audio of a request, and what is transcribed of it.
struct Audio {
  GenerationRequest request;
  int64_t frames = 0;
  int64_t read = 0;
  bool timestamps = false;
  GeneratedSequence sequence;

  bool is_over() const { return read >= frames; }
};

// [1, bands, frames], or other shapes, which the encoder refuses: they are one window.
absl::StatusOr<Audio> MakeAudio(const GenerationRequest& request, const GenerationConfig& config,
                                int64_t window) {
  Audio audio{request, window, 0, config.return_timestamps, {}};
  const auto features = request.encoder_inputs.find(kFeatures);
  if (features == request.encoder_inputs.end()) return audio;
  const Tensor& tensor = features->second;
  if (tensor.rank() != 3 || tensor.num_elements() == 0) return audio;
  audio.frames = tensor.dim(2);
  if (audio.frames <= window) return audio;
  audio.timestamps = true;
  const bool can_cut = config.no_timestamps_token_id.has_value();
  if (can_cut && config.num_return_sequences == 1) return audio;
  return absl::InvalidArgumentError(absl::StrCat(
      kFeatures, " has ", audio.frames, " frames, more than the ", window,
      " that the encoder reads at once; timestamps tell where to cut, which needs ",
      can_cut ? "num_return_sequences to be 1" : "no_timestamps_token_id in the configuration"));
}

// The frames from `begin` on, as many as a window has; silence behind the last.
absl::StatusOr<Tensor> CutFrames(const Tensor& features, int64_t begin, int64_t window) {
  const Shape& shape = features.shape();
  const int64_t count = std::min(window, shape[2] - begin);
  const Shape strides = ops::StridesOf(features);
  ATTNRUN_ASSIGN_OR_RETURN(
      const Tensor part,
      features.View({shape[0], shape[1], count}, strides, begin * strides[2]).Dense());
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(part));
  const int64_t rows = shape[0] * shape[1];
  std::vector<double> cut(static_cast<size_t>(rows * window), 0.0);
  for (int64_t row = 0; row < rows; ++row) {
    std::copy_n(values.begin() + row * count, count, cut.begin() + row * window);
  }
  return FromDoubles(part.type(), {shape[0], shape[1], window}, cut);
}

// The next windows of all audio that is not over, all with or all without timestamps.
absl::StatusOr<std::vector<AudioWindow>> NextWindows(const std::vector<Audio>& audios,
                                                     int64_t frames) {
  std::vector<AudioWindow> windows;
  for (size_t i = 0; i < audios.size(); ++i) {
    const Audio& audio = audios[i];
    if (audio.is_over()) continue;
    if (!windows.empty() && audio.timestamps != audios[windows[0].number].timestamps) continue;
    windows.push_back({i, audio.request});
    const bool whole = audio.read == 0 && audio.frames == frames;
    if (whole) continue;
    Tensor& features = windows.back().request.encoder_inputs.at(kFeatures);
    ATTNRUN_ASSIGN_OR_RETURN(features, CutFrames(features, audio.read, frames));
  }
  return windows;
}

// Adds up the tokens and times of rounds.
class Totals {
 public:
  void Add(const GenerationResult& round) {
    if (rounds_++ == 0) total_ = round;
    int64_t read = -round.reused_tokens;
    int64_t decoded = 0;
    for (const GeneratedSequence& sequence : round.sequences) {
      read += sequence.prompt_tokens;
      decoded += static_cast<int64_t>(sequence.tokens.size()) - 1;
    }
    Count(read, round.prompt_tokens_per_second, read_, read_seconds_);
    Count(decoded, round.decode_tokens_per_second, decoded_, decode_seconds_);
    total_.state_bytes = std::max(total_.state_bytes, round.state_bytes);
    if (rounds_ == 1) return;
    total_.reused_tokens += round.reused_tokens;
    total_.guessed_tokens += round.guessed_tokens;
    total_.accepted_tokens += round.accepted_tokens;
  }

  GenerationResult Take(std::vector<GeneratedSequence> sequences) {
    if (read_seconds_ > 0) total_.prompt_tokens_per_second = read_ / read_seconds_;
    if (decode_seconds_ > 0) total_.decode_tokens_per_second = decoded_ / decode_seconds_;
    total_.sequences = std::move(sequences);
    return std::move(total_);
  }

 private:
  static void Count(int64_t tokens, double rate, double& sum, double& seconds) {
    if (rate <= 0) return;
    sum += static_cast<double>(tokens);
    seconds += static_cast<double>(tokens) / rate;
  }

  GenerationResult total_;
  int64_t rounds_ = 0;
  double read_ = 0;
  double decoded_ = 0;
  double read_seconds_ = 0;
  double decode_seconds_ = 0;
};

void Report(size_t number, const GeneratedSequence& sequence, size_t first,
            const std::function<void(size_t, int64_t)>& on_token) {
  if (!on_token) return;
  for (size_t i = first; i < sequence.tokens.size(); ++i) on_token(number, sequence.tokens[i]);
}

// Takes the tokens of a window, and tells of them.
void TakeWindow(const AudioWindow& window, const GeneratedSequence& found,
                const GenerationConfig& config, int64_t frames, Audio& audio,
                const std::function<void(size_t, int64_t)>& on_token) {
  if (audio.read == 0) audio.sequence.prompt_tokens = found.prompt_tokens;
  // All windows of an audio start alike.
  audio.request.prompt = window.request.prompt;
  const size_t before = audio.sequence.tokens.size();
  const int64_t left = audio.frames - audio.read;
  audio.read += gen::AppendWindow(found, config, std::min(frames, left), left, audio.sequence);
  Report(window.number, audio.sequence, before, on_token);
}

}  // namespace

std::optional<int64_t> WindowFrames(const std::vector<ValueInfo>& encoder_inputs,
                                    std::optional<int64_t> positions) {
  constexpr int64_t kFramesPerPosition = 2;
  if (positions.has_value()) return *positions * kFramesPerPosition;
  for (const ValueInfo& info : encoder_inputs) {
    if (info.name != kFeatures || !info.shape.has_value() || info.shape->size() != 3) continue;
    if (info.shape->back().is_fixed()) return info.shape->back().value;
  }
  return std::nullopt;
}

absl::StatusOr<GenerationResult> TranscribeWindows(
    const std::vector<GenerationRequest>& requests, const GenerationConfig& config, int64_t frames,
    const Transcribe& transcribe, const std::function<void(size_t, int64_t)>& on_token) {
  std::vector<Audio> audios;
  for (size_t i = 0; i < requests.size(); ++i) {
    absl::StatusOr<Audio> audio = MakeAudio(requests[i], config, frames);
    if (!audio.ok()) return Annotate(audio.status(), gen::NameOfPrompt(i, requests.size()));
    audios.push_back(*std::move(audio));
  }
  Totals totals;
  while (true) {
    ATTNRUN_ASSIGN_OR_RETURN(std::vector<AudioWindow> windows, NextWindows(audios, frames));
    if (windows.empty()) break;
    GenerationConfig settings = config;
    settings.return_timestamps = audios[windows[0].number].timestamps;
    ATTNRUN_ASSIGN_OR_RETURN(GenerationResult found, transcribe(windows, settings));
    if (config.num_return_sequences > 1) {
      for (size_t i = 0; i < found.sequences.size(); ++i) {
        Report(i, found.sequences[i], 0, on_token);
      }
      return found;
    }
    totals.Add(found);
    for (size_t k = 0; k < windows.size(); ++k) {
      TakeWindow(windows[k], found.sequences[k], settings, frames, audios[windows[k].number],
                 on_token);
    }
  }
  std::vector<GeneratedSequence> sequences;
  for (Audio& audio : audios) sequences.push_back(std::move(audio.sequence));
  return totals.Take(std::move(sequences));
}

}  // namespace attnrun
