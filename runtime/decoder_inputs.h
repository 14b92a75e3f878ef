// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_RUNTIME_DECODER_INPUTS_H_
#define ATTNRUN_RUNTIME_DECODER_INPUTS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attnrun/generation_config.h"
#include "attnrun/model_info.h"
#include "attnrun/tensor.h"
#include "core/hash_map.h"

namespace attnrun {

inline constexpr char kEmbeddings[] = "inputs_embeds";

// One step of a decoder.
struct DecoderStep {
  // The ids that each row reads, the same number of all.
  absl::Span<const TokenIds> ids;
  // The number of ids that each row has read before.
  int64_t past = 0;
  // The last positions whose logits are wanted.
  int64_t positions = 1;
  // Tells for each row which of its first ids are hidden; see gen::PromptMask.
  absl::Span<const uint8_t> mask = {};
};

// The inputs of a step by the names that exporters give them: ids, masks, positions and
// switches. `given` has inputs that are known, such as what an encoder made, and
// `carried` the names of those that a state holds. kUnimplemented for an input of another name.
absl::StatusOr<TensorMap> DecoderInputs(const std::vector<ValueInfo>& declared,
                                        const HashSet<std::string>& carried, const TensorMap& given,
                                        const DecoderStep& step);

// The ids as a tensor [rows, length].
absl::StatusOr<Tensor> IdTensor(DataType type, absl::Span<const TokenIds> ids);

// The first `length` elements of a gen::PromptMask as a tensor [rows, length].
absl::StatusOr<Tensor> MaskTensor(DataType type, int64_t rows, int64_t length,
                                  absl::Span<const uint8_t> mask);

// A tensor with each element `value`.
absl::StatusOr<Tensor> FilledTensor(DataType type, absl::Span<const int64_t> shape, double value);

}  // namespace attnrun

#endif  // ATTNRUN_RUNTIME_DECODER_INPUTS_H_
