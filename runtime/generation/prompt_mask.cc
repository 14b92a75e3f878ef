// SPDX-License-Identifier: Apache-2.0
#include "generation/prompt_mask.h"

#include <algorithm>
#include <optional>

#include "absl/algorithm/container.h"

namespace attnrun::gen {

PromptMask MaskOfPads(absl::Span<const int64_t> ids, const GenerationConfig& config) {
  const std::optional<int64_t> pad = config.pad_token_id;
  if (!pad.has_value() || absl::c_linear_search(config.eos_token_id, *pad)) return {};
  if (!absl::c_linear_search(ids, *pad)) return {};
  PromptMask mask;
  for (const int64_t id : ids) mask.push_back(id == *pad ? 0 : 1);
  return mask;
}

std::vector<int64_t> MaskedPositions(int64_t first, int64_t length,
                                     absl::Span<const uint8_t> mask) {
  const auto masked = static_cast<int64_t>(mask.size());
  std::vector<int64_t> positions;
  int64_t next = 0;
  for (int64_t i = 0; i < std::min(first + length, masked); ++i) {
    const int64_t position = IsSeen(mask, i) ? next++ : 0;
    if (i >= first) positions.push_back(position);
  }
  // A new id comes one behind the prompt's last one, also where this is hidden.
  if (masked > 0 && !IsSeen(mask, masked - 1)) next = 1;
  for (int64_t i = std::max(first, masked); i < first + length; ++i) {
    positions.push_back(next + i - masked);
  }
  return positions;
}

}  // namespace attnrun::gen
