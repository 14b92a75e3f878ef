// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/status.h"
#include "ops/movement/pad.h"
#include "ops/movement/strided_view.h"
#include "ops/tensors/strided_copy.h"

namespace attnrun::ops {
namespace {

// Constant padding: fills the result, then copies the part of the data that remains into it.
class PadKernel final : public Kernel {
 public:
  explicit PadKernel(Pad op) : op_(std::move(op)) {}

  absl::string_view name() const override { return "copy"; }
  bool Accepts(const OpContext& context) const override { return MovesInputAsBytes(context); }

  absl::Status Run(OpContext& context) const override {
    const Tensor& data = context.input(0);
    ATTNRUN_ASSIGN_OR_RETURN(const Padding padding, op_.Resolve(context));
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor value, op_.Value(context));
    if (padding.shape == data.shape() && IsZero(padding.before)) {
      context.SetOutput(0, data);
      return absl::OkStatus();
    }
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, data.type(), padding.shape));
    const int width = BitWidth(data.type()) / 8;
    FillElements(width, y->mutable_raw(), y->num_elements(), value.raw());
    if (data.num_elements() > 0 && y->num_elements() > 0) CopyInside(data, padding, *y, width);
    return absl::OkStatus();
  }

 private:
  static bool IsZero(const Shape& pads) {
    return std::all_of(pads.begin(), pads.end(), [](int64_t pad) { return pad == 0; });
  }

  static void CopyInside(const Tensor& data, const Padding& padding, Tensor& y, int width) {
    const Shape strides = DenseStrides(data.shape());
    const Shape y_strides = DenseStrides(y.shape());
    Shape extents(data.rank());
    int64_t from = 0;
    int64_t to = 0;
    for (int i = 0; i < data.rank(); ++i) {
      // No overflow: Resolve has checked that the end of the data is within int64.
      const int64_t first = std::max<int64_t>(padding.before[i], 0);
      const int64_t end = std::min(padding.before[i] + data.dim(i), padding.shape[i]);
      if (end <= first) return;
      extents[i] = end - first;
      from += (first - padding.before[i]) * strides[i];
      to += first * y_strides[i];
    }
    CopyStrided(width, extents, data.data<char>() + from * width, strides,
                y.mutable_data<char>() + to * width, y_strides);
  }

  const Pad op_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> Pad::MakeKernel(const KernelContext& /*context*/) const {
  if (mode_ != PadMode::kConstant) return nullptr;
  return std::make_unique<PadKernel>(*this);
}

}  // namespace attnrun::ops
