// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/parallel.h"
#include "core/status.h"
#include "ops/tensors/float_operands.h"
#include "ops/tensors/float_rows.h"
#include "ops/vision/col2im.h"

namespace attnrun::ops {
namespace {

// Adds the elements of a tap at `count` positions along a line to every `stride`-th element of the
// image's line.
void AddLine(const float* from, int64_t count, int64_t stride, float* to) {
  if (stride == 1) {
    for (int64_t i = 0; i < count; ++i) to[i] += from[i];
  } else {
    for (int64_t i = 0; i < count; ++i) to[i * stride] += from[i];
  }
}

// Adds the lines of all taps that one line of positions reads. `column` has the first tap's.
void AddPositions(const SlidingWindow& window, absl::Span<const int64_t> position, int64_t line,
                  int64_t positions, const float* column, float* image) {
  const size_t last = window.kernel.size() - 1;
  const int64_t width = window.output[last];
  const int64_t stride = window.strides[last];
  int64_t lines = 1;
  for (size_t axis = 0; axis < last; ++axis) lines *= window.kernel[axis];
  for (int64_t tap_line = 0; tap_line < lines; ++tap_line) {
    const std::optional<int64_t> offset = window.LineOffset(position, tap_line);
    if (!offset.has_value()) continue;
    for (int64_t tap = 0; tap < window.kernel[last]; ++tap) {
      const int64_t start = window.coordinate(last, 0, tap);
      const IndexRange inside = PositionsInside(start, stride, 1, window.input[last], width);
      const int64_t row = tap_line * window.kernel[last] + tap;
      AddLine(column + row * positions + line * width + inside.begin, inside.size(), stride,
              image + *offset + start + inside.begin * stride);
    }
  }
}

// Adds whole lines of positions, one tap after the other.
class Col2ImKernel final : public Kernel {
 public:
  explicit Col2ImKernel(Col2Im op) : op_(std::move(op)) {}

  absl::string_view name() const override { return "lines"; }

  bool Accepts(const OpContext& context) const override {
    return IsFloatOrHalf(context.input(0).type());
  }

  absl::Status Run(OpContext& context) const override {
    ATTNRUN_ASSIGN_OR_RETURN(const Col2Im::Blocks blocks, op_.Resolve(context));
    ATTNRUN_ASSIGN_OR_RETURN(
        FloatOutput y, FloatOutput::Allocate(context, 0, context.input(0).type(), blocks.shape));
    if (y.num_elements() == 0) return absl::OkStatus();
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor x, ToFloat(context.input(0), context.allocator()));
    const int64_t images = blocks.shape[0] * blocks.shape[1];
    const int64_t size = y.num_elements() / images;
    ParallelFor(images, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        AddImage(blocks, x.data<float>() + i * blocks.taps * x.dim(2), x.dim(2), size,
                 y.data() + i * size);
      }
    });
    y.Store();
    return absl::OkStatus();
  }

 private:
  static void AddImage(const Col2Im::Blocks& blocks, const float* columns, int64_t positions,
                       int64_t size, float* image) {
    std::fill_n(image, size, 0.0F);
    SlidingWindow lines = blocks.window;
    lines.output.back() = std::min<int64_t>(lines.output.back(), 1);
    int64_t line = 0;
    ForEachPosition(lines, [&](const Shape& position) {
      AddPositions(blocks.window, position, line++, positions, columns, image);
    });
  }

  const Col2Im op_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> Col2Im::MakeKernel(const KernelContext& /*context*/) const {
  return std::make_unique<Col2ImKernel>(*this);
}

}  // namespace attnrun::ops
