// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>
#include <vector>

#include "core/elements.h"
#include "core/status.h"
#include "ops/resize/resize.h"
#include "ops/resize/resize_table.h"
#include "ops/tensors/indexed_copy.h"
#include "ops/tensors/machine_word.h"

namespace attnrun::ops {
namespace {

class NearestKernel final : public Kernel {
 public:
  explicit NearestKernel(Resize op) : op_(std::move(op)) {}

  absl::string_view name() const override { return "copy"; }
  bool Accepts(const OpContext& context) const override {
    if (!IsMachineWord(context.input(0).type())) return false;
    const auto axes = op_.Resolve(context);
    return axes.ok() && std::all_of(axes->begin(), axes->end(), [](const ResizeAxis& axis) {
             return std::max(axis.input, axis.output) <= kMostPositions;
           });
  }

  absl::Status Run(OpContext& context) const override {
    const Tensor& x = context.input(0);
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<ResizeAxis> axes, op_.Resolve(context));
    // Read where a crop reaches beyond x.
    const bool crops =
        op_.attributes().transformation == CoordinateTransformation::kTfCropAndResize;
    ATTNRUN_ASSIGN_OR_RETURN(
        const Tensor outside,
        FromDoubles(x.type(), {}, {crops ? op_.attributes().extrapolation_value : 0.0}));
    Shape shape;
    for (const ResizeAxis& axis : axes) shape.push_back(axis.output);
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, x.type(), shape));
    if (y->num_elements() == 0) return absl::OkStatus();
    std::vector<std::vector<int64_t>> positions(axes.size());
    for (size_t i = 0; i < axes.size(); ++i) {
      if (IsUnchanged(op_.attributes(), axes[i])) continue;
      positions[i] = NearestPositions(op_.attributes(), axes[i]);
    }
    CopyIndexed(x, std::move(positions), outside.raw(), *y);
    return absl::OkStatus();
  }

 private:
  const Resize op_;
};

}  // namespace

std::unique_ptr<Kernel> MakeNearestKernel(const Resize& op) {
  return std::make_unique<NearestKernel>(op);
}

}  // namespace attnrun::ops
