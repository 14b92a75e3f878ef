// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/implicit_gemm.h"

#include <algorithm>

#include "core/div_ceil.h"
#include "core/interrupt.h"
#include "core/parallel.h"
#include "core/status.h"
#include "ops/conv/conv_tiling.h"
#include "ops/conv/padded_window.h"
#include "ops/gemm/gemm_operands.h"
#include "ops/gemm/micro_kernel.h"
#include "ops/tensors/float_rows.h"

namespace attnrun::ops {
namespace {

// Windows of a tile: few enough that their input stays in the second-level cache, many enough that
// the weights, which each tile reads, come from memory seldom.
constexpr int64_t kWindows = 256;

// The windows of a 1x1 convolution lie on one line.
SlidingWindow Simplified(const ConvShape& shape) {
  if (!IsPointwise(shape)) return OfTwoAxes(shape.window);
  SlidingWindow window;
  window.input = window.output = {1, shape.input_size};
  window.kernel = window.strides = window.dilations = {1, 1};
  window.pads_begin = window.pads_end = {0, 0};
  return window;
}

// How the windows of an image are cut into tiles.
class Tiling {
 public:
  explicit Tiling(const SlidingWindow& window) : window_(window) {
    const size_t last = window.output.size() - 1;
    const int64_t lines = DivCeil(window.output[last], kWindows);
    line_ = DivCeil(DivCeil(window.output[last], lines), kTileRows) * kTileRows;
    line_ = std::min(line_, window.output[last]);
    const int64_t rows = std::clamp<int64_t>(kWindows / line_, 1, window.output[last - 1]);
    rows_ = DivCeil(window.output[last - 1], DivCeil(window.output[last - 1], rows));
    line_tiles_ = DivCeil(window.output[last], line_);
    row_tiles_ = DivCeil(window.output[last - 1], rows_);
    for (size_t axis = 0; axis + 1 < last; ++axis) planes_ *= window.output[axis];
  }

  int64_t rows() const { return rows_; }
  int64_t line() const { return line_; }
  int64_t size() const { return planes_ * row_tiles_ * line_tiles_; }

  WindowTile operator[](int64_t index) const {
    const size_t last = window_.output.size() - 1;
    const int64_t line = index % line_tiles_ * line_;
    const int64_t row = index / line_tiles_ % row_tiles_ * rows_;
    WindowTile tile = {Shape(last - 1),
                       {row, std::min(row + rows_, window_.output[last - 1])},
                       {line, std::min(line + line_, window_.output[last])}};
    int64_t plane = index / line_tiles_ / row_tiles_;
    for (size_t axis = last - 1; axis-- > 0; plane /= window_.output[axis]) {
      tile.position[axis] = plane % window_.output[axis];
    }
    return tile;
  }

 private:
  const SlidingWindow& window_;
  int64_t rows_;
  int64_t line_;
  int64_t row_tiles_;
  int64_t line_tiles_;
  int64_t planes_ = 1;
};

// Floats of a tile's copy.
double CopySize(const SlidingWindow& window, int64_t channels) {
  const Tiling tiling(window);
  const PaddedWindow padded(window, channels);
  return static_cast<double>(padded.Planes()) * static_cast<double>(padded.Rows(tiling.rows())) *
         static_cast<double>(padded.Line(tiling.line())) * static_cast<double>(channels);
}

// Where a tile's windows lie in memory.
struct Source {
  // The first window's first element.
  const float* at;
  // From one row of windows to the next, and from one window of a line to the next.
  int64_t row_step;
  int64_t step;
};

class Multiplier {
 public:
  Multiplier(const ConvShape& shape, const SlidingWindow& window,
             const ChannelsLastOperands& operands)
      : shape_(shape),
        window_(window),
        operands_(operands),
        tiling_(window),
        padded_(window, shape.c),
        in_place_(LiesInside(window)) {
    SetSegments();
  }

  const Tiling& tiling() const { return tiling_; }
  int64_t scratch_floats() const {
    return in_place_ ? 0 : static_cast<int64_t>(CopySize(window_, shape_.c));
  }

  // Copies what a tile reads, unless it is read in place.
  Source Prepare(int64_t image, const WindowTile& tile, float* scratch) const {
    const size_t last = window_.input.size() - 1;
    const float* const x = operands_.x + image * shape_.input_size * shape_.c;
    const int64_t step = window_.strides[last] * shape_.c;
    if (!in_place_) {
      padded_.Copy(x, tile, scratch);
      return {scratch, window_.strides[last - 1] * LineSize(tile), step};
    }
    int64_t offset = 0;
    for (size_t axis = 0; axis <= last; ++axis) {
      const int64_t position = axis == last       ? tile.line.begin
                               : axis + 1 == last ? tile.rows.begin
                                                  : tile.position[axis];
      offset = offset * window_.input[axis] + window_.coordinate(axis, position, 0);
    }
    return {x + offset * shape_.c, window_.strides[last - 1] * LineSize(tile), step};
  }

  // Multiplies a tile by some panels of the weights of a group.
  void Multiply(int64_t image, const WindowTile& tile, const Source& source, int64_t group,
                const PackedMatrix& weights, IndexRange panels) const {
    for (int64_t panel = panels.begin; panel < panels.end; ++panel) {
      for (int64_t segment = 0; segment < num_segments(); ++segment) {
        for (int64_t row = tile.rows.begin; row < tile.rows.end; ++row) {
          MultiplyLine(image, tile, row, source, group, weights, panel, segment);
        }
      }
    }
  }

 private:
  // The floats of a line in the image, or in the copy.
  int64_t LineSize(const WindowTile& tile) const {
    return (in_place_ ? window_.input.back() : padded_.Line(tile.line.size())) * shape_.c;
  }
  int64_t num_segments() const { return shape_.kernel_size / segment_taps_; }

  // A segment is a row of taps if they are adjacent, else a tap.
  void SetSegments() {
    const int64_t taps = window_.kernel.back();
    const bool adjacent = shape_.group == 1 && (taps == 1 || window_.dilations.back() == 1);
    segment_taps_ = adjacent ? taps : 1;
    segment_size_ = segment_taps_ * shape_.c / shape_.group;
  }

  // The distance from a window's first element to a segment.
  int64_t SegmentOffset(const WindowTile& tile, int64_t segment) const {
    const size_t last = window_.kernel.size() - 1;
    int64_t tap = segment * segment_taps_;
    int64_t offset = tap % window_.kernel[last] * window_.dilations[last] * shape_.c;
    tap /= window_.kernel[last];
    int64_t step = LineSize(tile);
    offset += tap % window_.kernel[last - 1] * window_.dilations[last - 1] * step;
    tap /= window_.kernel[last - 1];
    if (!in_place_) return offset + tap * padded_.Rows(tile.rows.size()) * step;
    for (size_t axis = last - 1; axis-- > 0; tap /= window_.kernel[axis]) {
      step *= window_.input[axis + 1];
      offset += tap % window_.kernel[axis] * window_.dilations[axis] * step;
    }
    return offset;
  }

  void MultiplyLine(int64_t image, const WindowTile& tile, int64_t row, const Source& source,
                    int64_t group, const PackedMatrix& weights, int64_t panel,
                    int64_t segment) const {
    const int64_t channels = shape_.c / shape_.group;
    const int64_t width = PanelWidth();
    int64_t position = image;
    for (size_t axis = 0; axis + 2 < window_.output.size(); ++axis) {
      position = position * window_.output[axis] + tile.position[axis];
    }
    position = position * window_.output[window_.output.size() - 2] + row;
    position = position * window_.output.back() + tile.line.begin;
    const int64_t column = group * weights.columns() + panel * width;
    const bool last = segment + 1 == num_segments();
    PanelProduct product{};
    product.a = source.at + (row - tile.rows.begin) * source.row_step +
                SegmentOffset(tile, segment) + group * channels;
    product.lda = source.step;
    product.rows = tile.line.size();
    product.b = weights.panel(panel) + segment * segment_size_ * width;
    product.ldb = width;
    product.panel_stride = weights.rows() * width;
    product.c = operands_.y + position * shape_.m + column;
    product.ldc = shape_.m;
    product.columns = std::min(width, weights.columns() - panel * width);
    product.padded = true;
    product.k = segment_size_;
    product.blocks = std::max<int64_t>(DivCeil(segment_size_, kDepthBlock), 1);
    product.accumulate = segment > 0;
    product.scale = 1;
    product.fetched = row > tile.rows.begin;
    if (last) {
      if (operands_.bias != nullptr) product.bias = operands_.bias + column;
      product.activation = operands_.activation;
      product.residual_first = operands_.residual_first;
      if (operands_.residual != nullptr) {
        product.residual = {operands_.residual + position * shape_.m + column, shape_.m, 1, 1};
      }
    }
    MultiplyPanels(product);
  }

  const ConvShape& shape_;
  const SlidingWindow& window_;
  const ChannelsLastOperands& operands_;
  const Tiling tiling_;
  const PaddedWindow padded_;
  const bool in_place_;
  int64_t segment_taps_;
  int64_t segment_size_;
};

// w[g]^T, with rows in the order (tap, channel).
std::vector<float> RowsOfWindows(const float* w, int64_t features, int64_t channels, int64_t taps) {
  std::vector<float> rows(features * channels * taps);
  for (int64_t feature = 0; feature < features; ++feature) {
    for (int64_t channel = 0; channel < channels; ++channel) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        rows[(feature * taps + tap) * channels + channel] = *w++;
      }
    }
  }
  return rows;
}

}  // namespace

absl::StatusOr<std::unique_ptr<const ImplicitGemm>> ImplicitGemm::Make(
    const Tensor& w, int64_t group, const KernelContext& context) {
  KernelContext floats = context;
  floats.precision = Precision::kFloat32;
  // make_unique cannot call the private constructor.
  std::unique_ptr<ImplicitGemm> gemm(new ImplicitGemm);
  const int64_t features = w.dim(0) / group;
  const int64_t depth = w.num_elements() / w.dim(0);
  for (int64_t i = 0; i < group; ++i) {
    const std::vector<float> rows =
        RowsOfWindows(w.data<float>() + i * features * depth, features, w.dim(1), depth / w.dim(1));
    ATTNRUN_ASSIGN_OR_RETURN(
        std::shared_ptr<const PackedMatrix> packed,
        PackedMatrix::Pack(MatrixView{rows.data(), depth, features, 1, depth}, floats));
    gemm->weights_.push_back(std::move(packed));
  }
  return gemm;
}

bool ImplicitGemm::Serves(const ConvShape& shape) {
  constexpr double kLargest = 1 << 26;
  const SlidingWindow window = Simplified(shape);
  return LiesInside(window) || CopySize(window, shape.c) <= kLargest;
}

absl::Status ImplicitGemm::Run(const ConvShape& shape, const ChannelsLastOperands& operands,
                               Allocator& allocator) const {
  const SlidingWindow window = Simplified(shape);
  const Multiplier multiplier(shape, window, operands);
  const int64_t tiles = shape.n * multiplier.tiling().size();
  const int64_t panels = weights_[0]->num_panels();
  // Enough parts for all threads, in whole panels.
  const int64_t wanted = int64_t{NumThreads()} * kRangesPerThread;
  const int64_t parts = std::min(panels * shape.group, DivCeil(wanted, tiles));
  return ParallelForWithScratch(
      tiles * parts, 1, multiplier.scratch_floats(), allocator,
      [&](int64_t begin, int64_t end, float* scratch) {
        for (int64_t i = begin; i < end && !Interrupted(); ++i) {
          const int64_t image = i / parts / multiplier.tiling().size();
          const WindowTile tile = multiplier.tiling()[i / parts % multiplier.tiling().size()];
          const Source source = multiplier.Prepare(image, tile, scratch);
          const int64_t all = panels * shape.group;
          const IndexRange share = {all * (i % parts) / parts, all * (i % parts + 1) / parts};
          for (int64_t group = share.begin / panels; group * panels < share.end; ++group) {
            const IndexRange part = {std::max<int64_t>(share.begin - group * panels, 0),
                                     std::min(share.end - group * panels, panels)};
            multiplier.Multiply(image, tile, source, group, *weights_[group], part);
          }
        }
      });
}

}  // namespace attnrun::ops
