// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "core/div_ceil.h"
#include "core/interrupt.h"
#include "core/status.h"
#include "ops/signal/dft.h"
#include "ops/signal/fft.h"
#include "ops/signal/line_transform.h"
#include "ops/tensors/float_operands.h"
#include "ops/tensors/float_rows.h"

namespace attnrun::ops {
namespace {

// The longest transform whose scratch space, for as many lines as a vector has lanes, is modest.
constexpr int64_t kLongest = int64_t{1} << 18;

// Calls run(i, scratch) for groups of lines i < count, in parallel.
absl::Status ForEachGroup(const LineTransform& transform, int64_t length, int64_t count,
                          Allocator& allocator, absl::FunctionRef<void(int64_t, float*)> run) {
  constexpr int64_t kNumbersPerPiece = 1 << 13;
  return ParallelForWithScratch(count, kNumbersPerPiece / (length * FftLanes()) + 1,
                                transform.scratch_floats(), allocator,
                                [&](int64_t begin, int64_t end, float* scratch) {
                                  for (int64_t i = begin; i < end && !Interrupted(); ++i) {
                                    run(i, scratch);
                                  }
                                });
}

class DftKernel final : public Kernel {
 public:
  explicit DftKernel(Dft op) : op_(std::move(op)) {}

  absl::string_view name() const override { return "fft"; }
  bool Accepts(const OpContext& context) const override {
    if (!IsFloatOrHalf(context.input(0).type())) return false;
    const auto layout = op_.LayOut(context);
    return layout.ok() && layout->length <= kLongest;
  }

  absl::Status Run(OpContext& context) const override {
    ATTNRUN_ASSIGN_OR_RETURN(const Dft::Layout l, op_.LayOut(context));
    const Tensor& input = context.input(0);
    ATTNRUN_ASSIGN_OR_RETURN(FloatOutput y,
                             FloatOutput::Allocate(context, 0, input.type(), l.shape));
    if (y.num_elements() == 0) return absl::OkStatus();
    if (l.lines == 0) std::fill_n(y.data(), y.num_elements(), 0.0F);
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor x, ToFloat(input, context.allocator()));
    const LineFormat format = {
        .length = l.length,
        .given = std::min(l.read, op_.mirrored() ? l.length / 2 + 1 : l.length),
        .width = input.shape().back(),
        .mirrored = op_.mirrored(),
        .inverse = op_.inverse(),
        .written = l.written,
        .written_width = l.width,
        .window = nullptr};
    ATTNRUN_RETURN_IF_ERROR(Transform(format, l, x.data<float>(), y.data(), context.allocator()));
    y.Store();
    return absl::OkStatus();
  }

 private:
  absl::Status Transform(const LineFormat& format, const Dft::Layout& l, const float* x, float* y,
                         Allocator& allocator) const {
    const LineTransform transform(format, plans_);
    const int64_t lanes = FftLanes();
    // Lines whose elements are adjacent follow each other; of others, those of one block of `step`
    // are adjacent.
    const int64_t block = l.step == 1 ? l.lines : l.step;
    const int64_t groups = DivCeil(block, lanes);
    return ForEachGroup(
        transform, l.length, l.lines / std::max<int64_t>(block, 1) * groups, allocator,
        [&](int64_t i, float* scratch) {
          const int64_t first = i % groups * lanes;
          const int64_t count = std::min(lanes, block - first);
          const auto strides = [&](int64_t length, int64_t width) {
            return LineStrides{l.step == 1 ? length * width : width, l.step * width};
          };
          const LineStrides from = strides(l.read, format.width);
          const LineStrides to = strides(l.written, l.width);
          const int64_t outer = i / groups * block;
          transform.Run(x + outer * l.read * format.width + first * from.lines, from, count,
                        y + outer * l.written * l.width + first * to.lines, to, scratch);
        });
  }

  const Dft op_;
  const FftPlans plans_;
};

class StftKernel final : public Kernel {
 public:
  explicit StftKernel(Stft op) : op_(std::move(op)) {}

  absl::string_view name() const override { return "fft"; }
  bool Accepts(const OpContext& context) const override {
    const DataType type = context.input(0).type();
    if (!IsFloatOrHalf(type) || (context.has_input(2) && context.input(2).type() != type)) {
      return false;
    }
    const auto layout = op_.LayOut(context);
    return layout.ok() && layout->length <= kLongest;
  }

  absl::Status Run(OpContext& context) const override {
    ATTNRUN_ASSIGN_OR_RETURN(const Stft::Layout l, op_.LayOut(context));
    const Tensor& signal = context.input(0);
    ATTNRUN_ASSIGN_OR_RETURN(FloatOutput y,
                             FloatOutput::Allocate(context, 0, signal.type(), l.shape));
    if (y.num_elements() == 0) return absl::OkStatus();
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor x, ToFloat(signal, context.allocator()));
    Tensor window;
    if (context.has_input(2) && context.input(2).num_elements() > 0) {
      ATTNRUN_ASSIGN_OR_RETURN(window, ToFloat(context.input(2), context.allocator()));
    }
    const LineFormat format = {.length = l.length,
                               .given = l.length,
                               .width = l.width,
                               .mirrored = false,
                               .inverse = false,
                               .written = l.shape[2],
                               .written_width = 2,
                               .window = window.defined() ? window.data<float>() : nullptr};
    const LineTransform transform(format, plans_);
    const int64_t lanes = FftLanes();
    const int64_t frames = l.shape[1];
    const int64_t groups = DivCeil(frames, lanes);
    const int64_t size = l.shape[2] * 2;
    ATTNRUN_RETURN_IF_ERROR(ForEachGroup(
        transform, l.length, l.shape[0] * groups, context.allocator(),
        [&](int64_t i, float* scratch) {
          const int64_t first = i % groups * lanes;
          const int64_t sample = i / groups;
          transform.Run(x.data<float>() + (sample * signal.dim(1) + first * l.step) * l.width,
                        {l.step * l.width, l.width}, std::min(lanes, frames - first),
                        y.data() + (sample * frames + first) * size, {size, 2}, scratch);
        }));
    y.Store();
    return absl::OkStatus();
  }

 private:
  const Stft op_;
  const FftPlans plans_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> Dft::MakeKernel(const KernelContext& /*context*/) const {
  return std::make_unique<DftKernel>(*this);
}

absl::StatusOr<std::unique_ptr<Kernel>> Stft::MakeKernel(const KernelContext& /*context*/) const {
  return std::make_unique<StftKernel>(*this);
}

}  // namespace attnrun::ops
