// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_RUNTIME_MODEL_DECODER_H_
#define ATTNRUN_RUNTIME_MODEL_DECODER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "attnrun/tensor.h"
#include "generation/decoder.h"
#include "model_sessions.h"

namespace attnrun {

// A row of a decoder before it has read anything.
struct DecoderRow {
  // The inputs that an encoder made.
  TensorMap encoded;
  // The number of ids for which memory is taken at once.
  int64_t capacity = 0;
};

// A decoder that runs the model on each row as if it were alone, all rows at once. Without
// `use_cache` each step reads all ids anew. `sessions` must outlive it.
absl::StatusOr<std::unique_ptr<gen::Decoder>> StartDecoder(const ModelSessions& sessions,
                                                           const std::vector<DecoderRow>& rows,
                                                           bool use_cache);

}  // namespace attnrun

#endif  // ATTNRUN_RUNTIME_MODEL_DECODER_H_
