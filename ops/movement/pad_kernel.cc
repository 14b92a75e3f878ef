// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>
#include <vector>

#include "core/status.h"
#include "ops/movement/pad.h"
#include "ops/movement/strided_view.h"
#include "ops/tensors/indexed_copy.h"
#include "ops/tensors/machine_word.h"
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

// The positions of an axis of the data that the padded axis reads. Precondition: the data has some.
std::vector<int64_t> PaddedPositions(PadMode mode, int64_t extent, int64_t before, int64_t padded) {
  // Reflected data repeats with a period that runs to the last element and back.
  const int64_t period = mode == PadMode::kWrap ? extent : std::max<int64_t>(2 * extent - 2, 1);
  std::vector<int64_t> positions(padded);
  for (int64_t i = 0; i < padded; ++i) {
    const int64_t at = i - before;
    if (mode == PadMode::kEdge) {
      positions[i] = std::clamp<int64_t>(at, 0, extent - 1);
    } else {
      const int64_t phase = (at % period + period) % period;
      positions[i] = phase < extent ? phase : period - phase;
    }
  }
  return positions;
}

// Padding with elements of the data.
class RepeatingPadKernel final : public Kernel {
 public:
  explicit RepeatingPadKernel(Pad op) : op_(std::move(op)) {}

  absl::string_view name() const override { return "copy"; }
  bool Accepts(const OpContext& context) const override {
    if (!IsMachineWord(context.input(0).type())) return false;
    const auto padding = op_.Resolve(context);
    return padding.ok() && std::all_of(padding->shape.begin(), padding->shape.end(),
                                       [](int64_t extent) { return extent <= kMostPositions; });
  }

  absl::Status Run(OpContext& context) const override {
    const Tensor& data = context.input(0);
    ATTNRUN_ASSIGN_OR_RETURN(const Padding padding, op_.Resolve(context));
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor value, op_.Value(context));
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, data.type(), padding.shape));
    if (y->num_elements() == 0) return absl::OkStatus();
    std::vector<std::vector<int64_t>> positions(data.rank());
    for (int i = 0; i < data.rank(); ++i) {
      if (padding.before[i] == 0 && padding.shape[i] == data.dim(i)) continue;
      positions[i] = PaddedPositions(op_.mode(), data.dim(i), padding.before[i], padding.shape[i]);
    }
    CopyIndexed(data, std::move(positions), value.raw(), *y);
    return absl::OkStatus();
  }

 private:
  const Pad op_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> Pad::MakeKernel(const KernelContext& /*context*/) const {
  if (mode_ != PadMode::kConstant) return std::make_unique<RepeatingPadKernel>(*this);
  return std::make_unique<PadKernel>(*this);
}

}  // namespace attnrun::ops
