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
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// The name of an axis: a letter's character code, or kEllipsis plus the distance from the last axis
// that "..." stands for.
using Label = int;
inline constexpr Label kEllipsis = 256;
using Labels = absl::InlinedVector<Label, 6>;

// An equation applied to operands of known shapes.
struct EinsumShape {
  // One label per axis. Labels may repeat within an operand, but not within the output.
  std::vector<Labels> operands;
  Labels output;
  // The operands' labels that the output lacks, each once.
  Labels summed;
  Shape output_shape;

  // The extent of a label: where operands differ, the extent that is not 1.
  int64_t extent(Label label) const;
  // Extents by label.
  std::vector<std::pair<Label, int64_t>> extents;
};

// kInvalidArgument if the equation is malformed, if it does not fit the number of operands or their
// ranks, or if extents differ.
absl::StatusOr<EinsumShape> ResolveEinsum(absl::string_view equation,
                                          absl::Span<const Shape> operands);

// The stride of each of `labels` in a dense operand of this shape: the sum over its axes of that
// label, 0 if it has none or is broadcast.
Shape LabelStrides(const Labels& operand, absl::Span<const int64_t> shape, const Labels& labels);

// ONNX Einsum-12, -28: the sum, over all labels that the output lacks, of the product of the
// operands' elements. All operands have one type of numbers; "..." stands for axes that broadcast.
class Einsum final : public Op {
 public:
  explicit Einsum(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

 private:
  std::string equation_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_EINSUM_EINSUM_H_
