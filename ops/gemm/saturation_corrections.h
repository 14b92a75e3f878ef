// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_SATURATION_CORRECTIONS_H_
#define ATTNRUN_OPS_GEMM_SATURATION_CORRECTIONS_H_

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attnrun/tensor.h"
#include "ops/gemm/int8_kernel.h"

namespace attnrun::ops {

// The amount to take off the first of two neighbours so that 255 times their sum fits 16 bits. It
// is 0 for different signs.
inline int CorrectionOf(int8_t first, int8_t second) {
  constexpr int kMost = 128;
  const int sum = first + second;
  return sum > kMost ? sum - kMost : std::min(sum + kMost, 0);
}

// The corrections of all panels [panels, steps, numbers of a step] in the layout kInt8x4.
class SaturationCorrections {
 public:
  // Clamps the pairs of the panels that would saturate, and lists the corrections.
  // kResourceExhausted as Allocator says.
  static absl::StatusOr<SaturationCorrections> Clamp(Tensor& panels, Allocator& allocator);

  // Corrections as ends() and list() of others; nullopt if they do not belong to such panels.
  static std::optional<SaturationCorrections> Of(const Shape& panels, const Tensor& ends,
                                                 const Tensor& list);

  absl::Span<const SaturationCorrection> OfPanel(int64_t panel) const;

  // The end of each panel's corrections in the list: int64 [panels].
  const Tensor& ends() const { return ends_; }
  // The corrections of one panel after the other, in the order of the panel's numbers: int32
  // [corrections, 3].
  const Tensor& list() const { return list_; }

 private:
  Tensor ends_;
  Tensor list_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_SATURATION_CORRECTIONS_H_
