// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_EINSUM_EINSUM_H_
#define ATTNRUN_OPS_EINSUM_EINSUM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "attnrun/shape.h"
#include "ops/interface/op.h"
#include "ops/interface/registry.h"

namespace attnrun::ops {

// What an axis is called: a letter's character code, or kEllipsis plus the distance from the last
// of the axes that "..." stands for.
using Label = int;
inline constexpr Label kEllipsis = 256;
using Labels = absl::InlinedVector<Label, 6>;

// An equation applied to operands of known shapes.
struct EinsumShape {
  // One label per axis; may repeat within an operand, not within the output.
  std::vector<Labels> operands;
  Labels output;
  // Labels of the operands that are not in the output, each once.
  Labels summed;
  Shape output_shape;

  // The extent of a label: where operands differ, the one that is not 1.
  int64_t extent(Label label) const;
  // Extents by label.
  std::vector<std::pair<Label, int64_t>> extents;
};

// kInvalidArgument for an equation that is malformed, names another number of operands or axes, and
// extents that differ.
absl::StatusOr<EinsumShape> ResolveEinsum(absl::string_view equation,
                                          absl::Span<const Shape> operands);

// Steps of a dense operand of this shape along each of `labels`: the sum of those of its axes of
// that name, 0 where it has none or is broadcast.
Shape LabelStrides(const Labels& operand, absl::Span<const int64_t> shape, const Labels& labels);

// ONNX Einsum-12, -28: the sum, over all labels that the output does not have, of the product of
// the operands' elements. One type of number for all; "..." stands for axes that broadcast.
class Einsum final : public Op {
 public:
  explicit Einsum(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(ConstantInputs constants) const override;

 private:
  std::string equation_;
};

void RegisterEinsum(OpRegistry& registry);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_EINSUM_EINSUM_H_
