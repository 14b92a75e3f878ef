// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_RUNTIME_MODEL_ROW_H_
#define ATTNRUN_RUNTIME_MODEL_ROW_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attnrun/run_options.h"
#include "attnrun/state.h"
#include "attnrun/tensor.h"
#include "decoder_inputs.h"
#include "generation/decoder.h"
#include "generation/prompt_mask.h"
#include "model_sessions.h"

namespace attnrun {

// A row that the sessions of a model read, one after another: a decoder without past may go first.
class ModelRow : public gen::Row {
 public:
  static absl::StatusOr<std::unique_ptr<ModelRow>> Make(const ModelSessions& sessions,
                                                        const TensorMap& given, int64_t capacity,
                                                        bool use_cache, gen::PromptMask mask = {});

  const TokenIds& ids() const override { return ids_; }
  // Where each step needs the state of the one before, it cannot be done without.
  bool has_cache() const override {
    return (use_cache_ || current_->starts_with_state) && !current_->carried.empty();
  }
  bool can_rewind() const override;
  bool reads_guesses() const override;
  bool reads_prompt_whole() const override { return sessions_.decoder.reads_prompt_whole; }
  absl::Status Rewind(int64_t length) override;
  absl::StatusOr<std::unique_ptr<gen::Row>> Clone(int64_t length, int64_t capacity) const override;
  absl::StatusOr<std::unique_ptr<ModelRow>> Copy(int64_t length, int64_t capacity) const;
  int64_t capacity() const { return capacity_; }
  size_t byte_size() const override { return has_cache() ? state_.byte_size() : 0; }

  // The session that reads the next ids.
  const DecoderSession& session() const { return *current_; }

  // The request that reads `ids`, whose last `positions` positions have logits.
  absl::StatusOr<Request> Next(absl::Span<const int64_t> ids, int64_t positions,
                               const RunOptions& options);

  // Becomes `other`, which has read more of the same sequence.
  void Replace(std::unique_ptr<ModelRow> other);

  // Takes what the request for `ids` gave.
  absl::Status Take(absl::Span<const int64_t> ids, const TensorMap& outputs);

 private:
  ModelRow(const ModelSessions& sessions, const DecoderSession& current, TensorMap given,
           int64_t capacity, bool use_cache, gen::PromptMask mask, State state)
      : sessions_(sessions),
        current_(&current),
        use_cache_(use_cache),
        mask_(std::move(mask)),
        given_(std::move(given)),
        capacity_(capacity),
        state_(std::move(state)) {}

  absl::Status Restart();
  absl::Status GoOnWithPast(const TensorMap& outputs);

  const ModelSessions& sessions_;
  const DecoderSession* current_;
  const bool use_cache_;
  const gen::PromptMask mask_;
  // Inputs that stay the same.
  TensorMap given_;
  int64_t capacity_;
  TokenIds ids_;
  State state_;
};

}  // namespace attnrun

#endif  // ATTNRUN_RUNTIME_MODEL_ROW_H_
