// SPDX-License-Identifier: Apache-2.0
#include "model_row.h"

#include <utility>

#include "core/status.h"
#include "decoder_inputs.h"

namespace attnrun {
namespace {

// `given` has the inputs that an encoder made.
absl::StatusOr<State> NewState(const DecoderSession& session, const TensorMap& given,
                               int64_t capacity) {
  StateOptions options;
  options.capacity = capacity;
  const auto states = given.find(kEncoderStates);
  if (states != given.end() && states->second.rank() == 3) {
    options.encoder_positions = states->second.dim(1);
  }
  return session.session.NewState(options);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ModelRow>> ModelRow::Make(const ModelSessions& sessions,
                                                         const TensorMap& given, int64_t capacity,
                                                         bool use_cache, gen::PromptMask mask) {
  const DecoderSession& first = sessions.decoder;
  ATTNRUN_ASSIGN_OR_RETURN(State state, NewState(first, given, capacity));
  return std::unique_ptr<ModelRow>(
      new ModelRow(sessions, first, given, capacity, use_cache, std::move(mask), std::move(state)));
}

bool ModelRow::can_rewind() const { return !has_cache() || current_->can_rewind; }

bool ModelRow::reads_guesses() const {
  const bool several = *current_->reads_several != DecoderSession::ReadsSeveral::kNo;
  return can_rewind() && current_->has_positions && several && !reads_prompt_whole();
}

absl::Status ModelRow::Rewind(int64_t length) {
  const bool counts = has_cache() && current_->counts_positions;
  if (counts) ATTNRUN_RETURN_IF_ERROR(state_.Rewind(length));
  ids_.resize(static_cast<size_t>(length));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<gen::Row>> ModelRow::Clone(int64_t length, int64_t capacity) const {
  return Copy(length, capacity);
}

absl::StatusOr<std::unique_ptr<ModelRow>> ModelRow::Copy(int64_t length, int64_t capacity) const {
  absl::StatusOr<State> copied = !has_cache() ? NewState(*current_, given_, capacity)
                                 : current_->counts_positions ? state_.Clone(length, capacity)
                                                              : state_.Clone();
  ATTNRUN_ASSIGN_OR_RETURN(State state, std::move(copied));
  std::unique_ptr<ModelRow> clone(
      new ModelRow(sessions_, *current_, given_, capacity, use_cache_, mask_, std::move(state)));
  clone->ids_.assign(ids_.begin(), ids_.begin() + length);
  return clone;
}

absl::StatusOr<Request> ModelRow::Next(absl::Span<const int64_t> ids, int64_t positions,
                                       const RunOptions& options) {
  TokenIds read(ids.begin(), ids.end());
  if (!has_cache()) {
    ATTNRUN_RETURN_IF_ERROR(Restart());
    read.insert(read.begin(), ids_.begin(), ids_.end());
  }
  const auto past = static_cast<int64_t>(ids_.size() + ids.size() - read.size());
  const DecoderStep step{absl::MakeConstSpan(&read, 1), past, positions, mask_};
  TensorMap given = given_;
  if (sessions_.embed_tokens.has_value() && HasInput(current_->session, kEmbeddings)) {
    ATTNRUN_ASSIGN_OR_RETURN(const TensorMap made, Embed(*sessions_.embed_tokens, step, options));
    for (const auto& [name, tensor] : made) {
      if (HasInput(current_->session, name)) given[name] = tensor;
    }
  }
  Request request;
  ATTNRUN_ASSIGN_OR_RETURN(
      request.inputs, DecoderInputs(current_->session.inputs(), current_->carried, given, step));
  request.state = &state_;
  return request;
}

void ModelRow::Replace(std::unique_ptr<ModelRow> other) {
  ids_ = std::move(other->ids_);
  state_ = std::move(other->state_);
}

absl::Status ModelRow::Take(absl::Span<const int64_t> ids, const TensorMap& outputs) {
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  const bool goes_on =
      current_ == &sessions_.decoder && sessions_.with_past.has_value() && use_cache_;
  return goes_on ? GoOnWithPast(outputs) : absl::OkStatus();
}

absl::Status ModelRow::Restart() {
  ATTNRUN_ASSIGN_OR_RETURN(state_, NewState(*current_, given_, capacity_));
  return absl::OkStatus();
}

// Hands the caches of the first step to the session that goes on: those that it carries, and those
// that stay.
absl::Status ModelRow::GoOnWithPast(const TensorMap& outputs) {
  current_ = &*sessions_.with_past;
  ATTNRUN_RETURN_IF_ERROR(Restart());
  for (const auto& [name, tensor] : outputs) {
    const std::string input = ContinuedInput(current_->session, name);
    if (current_->carried.contains(input)) {
      ATTNRUN_RETURN_IF_ERROR(state_.Set(input, tensor));
    } else if (HasInput(current_->session, input)) {
      given_[input] = tensor;
    }
  }
  return absl::OkStatus();
}

}  // namespace attnrun
