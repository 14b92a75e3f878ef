// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_RUNTIME_ENCODER_INPUTS_H_
#define ATTNRUN_RUNTIME_ENCODER_INPUTS_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "attnrun/generation_config.h"
#include "attnrun/model_info.h"
#include "attnrun/tensor.h"

namespace attnrun {

// The inputs of an encoder by the names that exporters give them: `given`, the ids of a text, and a
// mask as long as these that hides the text's pads (see gen::MaskOfPads). `embed` makes
// inputs_embeds of the ids, as Florence 2's encoder reads them; it may be empty. kInvalidArgument
// for a declared input that does not follow from them, and for ids that no input takes.
absl::StatusOr<TensorMap> EncoderInputs(
    const std::vector<ValueInfo>& declared, const TokenIds& ids, const TensorMap& given,
    const GenerationConfig& config,
    const std::function<absl::StatusOr<Tensor>(const TokenIds&)>& embed);

}  // namespace attnrun

#endif  // ATTNRUN_RUNTIME_ENCODER_INPUTS_H_
