// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/amx_float32_panels.h"

#include <algorithm>
#include <utility>

#include "core/div_ceil.h"

namespace attnrun::ops {

FloatPanels::FloatPanels(int64_t steps)
    : num_parts_(std::max<int64_t>(DivCeil(steps, SplitRing::kMostSteps), 1)),
      parts_(steps, num_parts_),
      ring_(scratch_.AtLeast<uint8_t>(SplitRing::kBytes +
                                      2 * kPartSums * static_cast<int64_t>(sizeof(float)))),
      part_sums_(reinterpret_cast<float*>(ring_.end())),
      other_part_sums_(part_sums_ + kPartSums) {}

void FloatPanels::Multiply(AmxProduct product, int64_t rows, const float* panel,
                           const float* following, float* sums) {
  if (begun_ != panel) ring_.Begin(PartOf(panel, 0));
  const uint8_t* const a = product.a;
  for (int64_t part = 0; part < num_parts_; ++part) {
    const FloatSteps next = Later(panel, following, part + 1);
    const FloatSteps fetched = Later(panel, following, part + 2);
    product.steps = parts_[part];
    product.next = reinterpret_cast<const uint8_t*>(fetched.from);
    product.lines = DivCeil(fetched.steps * kAmxFloatStepBytes / kAmxStepBytes,
                            std::max<int64_t>(product.steps * DivCeil(rows, 2 * kAmxRows), 1));
    product.a = a + parts_.Begin(part) * kFloatPieces * kAmxTileBytes;
    for (int64_t row = 0; row < rows; row += 2 * kAmxRows) {
      const int64_t some = std::min(2 * kAmxRows, rows - row);
      MultiplyPart(product, part, some, row + some < rows ? FloatSteps() : next,
                   sums + row * kAmxPanelWidth);
    }
    ring_.Advance(product.steps);
  }
  AddLate();
  begun_ = following;
}

FloatSteps FloatPanels::Later(const float* panel, const float* following, int64_t part) const {
  if (part < num_parts_) return PartOf(panel, part);
  if (following == nullptr || part >= 2 * num_parts_) return {};
  return PartOf(following, part - num_parts_);
}

void FloatPanels::MultiplyPart(AmxProduct& product, int64_t part, int64_t rows,
                               const FloatSteps& ahead, float* sums) {
  product.blocks = rows > kAmxRows ? 2 : 1;
  product.sums = sums;
  if (part > 0) {
    std::swap(part_sums_, other_part_sums_);
    product.sums = part_sums_;
  }
  ring_.Multiply(product, ahead);
  product.a += 2 * product.a_stride;
  product.next += product.lines * product.steps * kAmxStepBytes;
  AddLate();
  if (part > 0) late_ = {part_sums_, rows * kAmxPanelWidth, sums};
}

void FloatPanels::AddLate() {
  AddSums(late_.part, late_.count, late_.sums);
  late_ = {};
}

}  // namespace attnrun::ops
