// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_RUNTIME_GENERATION_PROMPT_MASK_H_
#define ATTNRUN_RUNTIME_GENERATION_PROMPT_MASK_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "attnrun/generation_config.h"

namespace attnrun::gen {

// For each id of a prompt, 1 if the model sees it and 0 if not. Ids behind its end are seen, so an
// empty mask hides nothing.
using PromptMask = std::vector<uint8_t>;

// True if the mask does not hide the id at `position`.
inline bool IsSeen(absl::Span<const uint8_t> mask, int64_t position) {
  const auto i = static_cast<size_t>(position);
  return i >= mask.size() || mask[i] != 0;
}

// The mask that transformers' `generate` makes where none is given: it hides pad_token_id, unless
// that is a stop token, too.
PromptMask MaskOfPads(absl::Span<const int64_t> ids, const GenerationConfig& config);

// The positions of `length` ids from `first` on, as transformers 5 counts them: hidden ids do not
// count, and have position 0.
std::vector<int64_t> MaskedPositions(int64_t first, int64_t length, absl::Span<const uint8_t> mask);

}  // namespace attnrun::gen

#endif  // ATTNRUN_RUNTIME_GENERATION_PROMPT_MASK_H_
