// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_RUNTIME_MODEL_DECODER_H_
#define ATTNRUN_RUNTIME_MODEL_DECODER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "attnrun/tensor.h"
#include "generation/decoder.h"
#include "model_row.h"
#include "model_sessions.h"

namespace attnrun {

// kInvalidArgument if the model is no decoder: without a cache, a run on two ids must give the
// logits of the first one that a run on it alone gives. Tries it where the model takes such inputs.
absl::Status CheckCausal(const ModelSessions& sessions);

// The sessions of a model as a decoder. Each row gets the bits that it would get alone.
class ModelDecoder : public gen::Decoder {
 public:
  // `sessions` must outlive it and its rows.
  explicit ModelDecoder(const ModelSessions& sessions) : sessions_(sessions) {}

  // A row that has read nothing, with memory for `capacity` ids. `given` has the inputs that an
  // encoder made. Without `use_cache` each step of the row reads all ids anew. `mask` is that of
  // the ids that it reads.
  absl::StatusOr<std::unique_ptr<gen::Row>> NewRow(const TensorMap& given, int64_t capacity,
                                                   bool use_cache, gen::PromptMask mask = {}) const;

  // All rows must be of this decoder.
  absl::StatusOr<std::vector<gen::Logits>> Read(absl::Span<const gen::Reading> readings,
                                                const RunOptions& options) const override;

 private:
  // The results of a session for a reading.
  struct Result {
    TensorMap outputs;
    // If the ids were read in turn: the row that has done so and replaces the old one, and the
    // logits that were wanted.
    std::unique_ptr<ModelRow> row;
    gen::Logits logits;
  };

  absl::Status RunOne(const DecoderSession& session, absl::Span<const gen::Reading> readings,
                      const RunOptions& options, std::vector<Result>& results) const;

  const ModelSessions& sessions_;
};

}  // namespace attnrun

#endif  // ATTNRUN_RUNTIME_MODEL_DECODER_H_
