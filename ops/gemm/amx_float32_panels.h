// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_AMX_FLOAT32_PANELS_H_
#define ATTNRUN_OPS_GEMM_AMX_FLOAT32_PANELS_H_

#include <cstdint>

#include "ops/gemm/amx_float32.h"
#include "ops/gemm/even_parts.h"
#include "ops/gemm/scratch.h"

namespace attnrun::ops {

// Multiplies panels of floats one after the other, on one thread, in parts of K of at most 128: a
// sum is the sum of those of the parts, since longer chains of sums cost accuracy. While tiles are
// multiplied, the vector units split the next part of B and add the sums of the part before.
class FloatPanels {
 public:
  // All panels have `steps` steps of K.
  explicit FloatPanels(int64_t steps);

  // `rows` rows of A times a panel. `product` has A, from its first block on, and the companion.
  // `following` is the panel of the next call, or null. `sums`: [rows, rounded up to blocks of 16,
  // kAmxPanelWidth].
  void Multiply(AmxProduct product, int64_t rows, const float* panel, const float* following,
                float* sums);

 private:
  static constexpr int64_t kPartSums = 2 * kAmxRows * kAmxPanelWidth;

  FloatSteps PartOf(const float* panel, int64_t part) const {
    return {panel + parts_.Begin(part) * kAmxFloatStep, parts_[part]};
  }
  // This part, counted on into the following panel, which may be null; empty behind it.
  FloatSteps Later(const float* panel, const float* following, int64_t part) const;
  // Two blocks of A, or one, whose sums go to `sums`.
  void MultiplyPart(AmxProduct& product, int64_t part, int64_t rows, const FloatSteps& ahead,
                    float* sums);
  void AddLate();

  const int64_t num_parts_;
  const EvenParts parts_;
  Scratch scratch_;
  SplitRing ring_;
  // The panel whose first part is split; null before the first.
  const float* begun_ = nullptr;
  // Sums of a part for two blocks of A: of the product that runs, and of the one before.
  float* part_sums_;
  float* other_part_sums_;
  // Sums of a part that are not added yet.
  struct {
    const float* part;
    int64_t count;
    float* sums;
  } late_ = {};
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_AMX_FLOAT32_PANELS_H_
