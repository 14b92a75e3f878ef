// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_RUNTIME_GENERATOR_MODEL_H_
#define ATTNRUN_RUNTIME_GENERATOR_MODEL_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "attnrun/session.h"
#include "generation/engine.h"
#include "generation/model_folder.h"
#include "model_decoder.h"
#include "model_sessions.h"

namespace attnrun {

// A model with what runs it.
struct GeneratorModel {
  GeneratorModel(gen::ModelFolder model_folder, ModelSessions model_sessions)
      : folder(std::move(model_folder)), sessions(std::move(model_sessions)), decoder(sessions) {}

  // Errors as those of Generator::Load.
  static absl::StatusOr<std::unique_ptr<const GeneratorModel>> Load(const std::string& path,
                                                                    const SessionOptions& options);

  bool IsWhisper() const { return folder.facts.type == "whisper"; }
  bool IsDonut() const { return absl::StartsWith(folder.facts.encoder_type, "donut"); }

  const gen::ModelFolder folder;
  const ModelSessions sessions;
  const ModelDecoder decoder;
};

// kInvalidArgument unless `draft` can guess the tokens of a model.
absl::Status CheckDraft(const ModelSessions& sessions, const ModelSessions& draft);

// The model that guesses the tokens of one of `vocabulary` tokens; none if `draft` is null.
gen::DraftModel MakeDraft(const GeneratorModel* draft, int64_t vocabulary);

}  // namespace attnrun

#endif  // ATTNRUN_RUNTIME_GENERATOR_MODEL_H_
