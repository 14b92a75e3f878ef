// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_VISION_NON_MAX_SUPPRESSION_H_
#define ATTNRUN_OPS_VISION_NON_MAX_SUPPRESSION_H_

#include <array>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// The scalar inputs.
struct SuppressionLimits {
  int64_t most_per_class = 0;
  double iou = 0;
  // Nullopt: every score is enough.
  std::optional<double> score;
};

// ONNX NonMaxSuppression-10, -11 (boxes float [B, N, 4], scores float [B, C, N],
// max_output_boxes_per_class?, iou_threshold?, score_threshold?) -> int64 [selected, 3]: for each
// sample and class the boxes in descending order of their scores, the lower index first among equal
// ones, without those whose score is not above score_threshold and those that overlap a chosen box
// by more than iou_threshold, up to the greatest number. A row is sample, class, box. Boxes are two
// opposite corners (y, x, y, x), or, with `center_point_box`, center and extents (x, y, width,
// height). A score that is NaN is never chosen.
class NonMaxSuppression final : public Op {
 public:
  explicit NonMaxSuppression(AttributeReader& attributes)
      : centered_(attributes.Int("center_point_box", 0) != 0) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

  // kInvalidArgument for boxes, scores and limits that do not fit each other.
  static absl::StatusOr<SuppressionLimits> ReadLimits(const OpContext& context);

 private:
  const bool centered_;
};

// A row of the output.
using Selected = std::array<int64_t, 3>;

// Sets output 0 to these rows.
absl::Status SetSelected(OpContext& context, absl::Span<const Selected> rows);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_VISION_NON_MAX_SUPPRESSION_H_
