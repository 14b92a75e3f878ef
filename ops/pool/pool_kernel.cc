#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

#include "core/parallel.h"
#include "core/status.h"
#include "ops/float_rows.h"
#include "ops/matmul/float_operands.h"
#include "ops/pool/pool.h"

namespace attnrun {
namespace {

// Combines a run of outputs with what one element of the kernel reads for each of them. `stride` is
// an integral_constant where the compiler is to vectorize.
template <typename Stride>
void Combine(bool max, const float* in, Stride stride, int64_t count, float* out) {
  if (max) {
    for (int64_t i = 0; i < count; ++i) {
      const float value = in[i * stride];
      // NaN is larger than any number.
      const bool replaces = (value > out[i]) | std::isnan(value);
      out[i] = replaces ? value : out[i];
    }
  } else {
    for (int64_t i = 0; i < count; ++i) out[i] += in[i * stride];
  }
}

void CombineRun(bool max, const float* in, int64_t stride, int64_t count, float* out) {
  if (stride == 1) {
    Combine(max, in, std::integral_constant<int64_t, 1>(), count, out);
  } else {
    Combine(max, in, stride, count, out);
  }
}

// Pools images a row of outputs at a time; see Pool for the rules. Not on oneDNN's primitive, whose
// maximum passes over NaN and is -3.4e38 where nothing but -inf is in a window.
class Pooler {
 public:
  Pooler(const PoolAttributes& attributes, const PoolShape& shape)
      : attributes_(attributes),
        shape_(shape),
        window_(shape.window),
        last_(shape.window.output.size() - 1) {
    if (!attributes_.window.has_value() && attributes_.pooling == Pooling::kAverage) return;
    column_ = window_;
    column_.kernel[last_] = 1;
    column_.pads_begin[last_] = 0;
    FindRuns();
    if (attributes_.pooling == Pooling::kMax) return;
    for (int64_t i = 0; i < window_.output[last_]; ++i) counts_.push_back(Count(last_, i));
  }

  void Image(const float* image, float* out) const {
    if (!attributes_.window.has_value() && attributes_.pooling == Pooling::kAverage) {
      *out = static_cast<float>(std::accumulate(image, image + shape_.input_size, 0.0) /
                                static_cast<double>(shape_.input_size));
      return;
    }
    // One position for every row of the output.
    SlidingWindow rows = window_;
    rows.output[last_] = 1;
    ForEachPosition(rows, [&](const Shape& position) {
      Row(position, image, out);
      out += window_.output[last_];
    });
  }

 private:
  // The outputs for which an element of the kernel along the last axis reads inside the input, and
  // where in its row it reads for the first.
  struct Run {
    int64_t from;
    int64_t begin;
    int64_t count;
  };

  // The row of outputs that begins at `position`.
  void Row(const Shape& position, const float* image, float* out) const {
    const bool max = attributes_.pooling == Pooling::kMax;
    std::fill_n(out, window_.output[last_], max ? -std::numeric_limits<float>::infinity() : 0.0F);
    ForEachTap(column_, position, [&](int64_t, int64_t offset) { AddRow(image + offset, out); });
    if (!max) Divide(position, out);
  }

  void FindRuns() {
    const int64_t stride = window_.strides[last_];
    const int64_t length = window_.output[last_];
    // Taps that some output reads inside the input.
    const int64_t first = window_.TapsInside(last_, length - 1).begin;
    const int64_t end = window_.TapsInside(last_, 0).end;
    for (int64_t tap = first; tap < end; ++tap) {
      const int64_t start = window_.coordinate(last_, 0, tap);
      const AxisRange run = PositionsInside(start, stride, 1, window_.input[last_], length);
      if (run.begin == run.end) continue;
      runs_.push_back({start + run.begin * stride, run.begin, run.end - run.begin});
    }
  }

  // All elements of the kernel along the last axis, for all outputs of a row, which read `in`.
  void AddRow(const float* in, float* out) const {
    const bool max = attributes_.pooling == Pooling::kMax;
    for (const Run& run : runs_) {
      CombineRun(max, in + run.from, window_.strides[last_], run.count, out + run.begin);
    }
  }

  void Divide(const Shape& position, float* out) const {
    double across = 1;
    for (size_t axis = 0; axis < last_; ++axis) across *= Count(axis, position[axis]);
    for (int64_t i = 0; i < window_.output[last_]; ++i) {
      out[i] = static_cast<float>(out[i] / (across * counts_[i]));
    }
  }

  // Elements of the window along `axis` that count.
  double Count(size_t axis, int64_t position) const {
    if (!attributes_.count_include_pad) {
      const AxisRange range = window_.TapsInside(axis, position);
      return static_cast<double>(std::max<int64_t>(range.end - range.begin, 0));
    }
    const int64_t room =
        window_.input[axis] + window_.pads_end[axis] - window_.coordinate(axis, position, 0);
    const int64_t dilation = window_.dilations[axis];
    return static_cast<double>(std::min(window_.kernel[axis], (room + dilation - 1) / dilation));
  }

  const PoolAttributes& attributes_;
  const PoolShape& shape_;
  const SlidingWindow& window_;
  const size_t last_;
  // The kernel without its last axis: every element of it reads a whole row of the input.
  SlidingWindow column_;
  std::vector<Run> runs_;
  // Count() along the last axis, of an average.
  std::vector<double> counts_;
};

class PoolKernel final : public Kernel {
 public:
  explicit PoolKernel(const PoolAttributes& attributes) : attributes_(attributes) {}

  absl::string_view name() const override { return "rows"; }

  bool Accepts(const OpContext& context) const override {
    const Tensor& x = context.input(0);
    return IsFloatOrHalf(x.type()) && !context.wants_output(1) && x.rank() > 2 &&
           ResolvePool(attributes_, x).ok();
  }

  absl::Status Run(OpContext& context) const override {
    ATTNRUN_ASSIGN_OR_RETURN(const PoolShape shape, ResolvePool(attributes_, context.input(0)));
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor x, ToFloat(context.input(0), context.allocator()));
    ATTNRUN_ASSIGN_OR_RETURN(
        FloatOutput y, FloatOutput::Allocate(context, 0, context.input(0).type(), shape.output));
    if (y.num_elements() == 0) return absl::OkStatus();
    const Pooler pooler(attributes_, shape);
    const auto* const in = x.data<float>();
    float* const out = y.data();
    constexpr int64_t kElementsPerPiece = 16384;
    ParallelFor(shape.count, kElementsPerPiece / (shape.input_size + 1) + 1,
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    pooler.Image(in + i * shape.input_size, out + i * shape.output_size);
                  }
                });
    y.Store();
    return absl::OkStatus();
  }

 private:
  const PoolAttributes attributes_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> Pool::MakeKernel(ConstantInputs /*constants*/) const {
  if (attributes_.pooling == Pooling::kLp) return nullptr;
  return std::make_unique<PoolKernel>(attributes_);
}

}  // namespace attnrun
