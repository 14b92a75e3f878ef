// SPDX-License-Identifier: Apache-2.0
#include "generator_model.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status.h"

namespace attnrun {

absl::StatusOr<std::unique_ptr<const GeneratorModel>> GeneratorModel::Load(
    const std::string& path, const SessionOptions& options) {
  ATTNRUN_ASSIGN_OR_RETURN(gen::ModelFolder folder, gen::ReadModelFolder(path));
  ATTNRUN_ASSIGN_OR_RETURN(ModelSessions sessions, ModelSessions::Load(folder.files, options));
  ATTNRUN_RETURN_IF_ERROR(Annotate(CheckCausal(sessions), folder.files.decoder));
  return std::make_unique<const GeneratorModel>(std::move(folder), std::move(sessions));
}

absl::Status CheckDraft(const ModelSessions& sessions, const ModelSessions& draft) {
  if (sessions.encoder.has_value() || draft.encoder.has_value()) {
    return absl::InvalidArgumentError("a draft model works without encoders alone");
  }
  if (sessions.decoder.vocabulary != draft.decoder.vocabulary) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected a vocabulary of ", sessions.decoder.vocabulary,
                     ", that of the model, but found ", draft.decoder.vocabulary));
  }
  for (const ModelSessions* model : {&sessions, &draft}) {
    const bool reads = model->decoder.can_rewind && model->decoder.has_positions;
    if (reads) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        model == &draft ? "it" : "the model",
        model->decoder.has_positions
            ? " has a state that cannot be rewound, so wrong guesses could not be taken back"
            : " has logits of the last position alone"));
  }
  return absl::OkStatus();
}

gen::DraftModel MakeDraft(const GeneratorModel* draft, int64_t vocabulary) {
  gen::DraftModel made;
  if (draft == nullptr) return made;
  made.decoder = &draft->decoder;
  made.new_row = [draft](int64_t capacity) {
    return draft->decoder.NewRow({}, capacity, /*use_cache=*/true);
  };
  made.max_positions = draft->folder.facts.max_positions.value_or(made.max_positions);
  made.vocabulary = vocabulary;
  return made;
}

}  // namespace attnrun
