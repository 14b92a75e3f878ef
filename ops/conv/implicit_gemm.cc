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
#include "ops/gemm/gemm_share.h"
#include "ops/gemm/micro_kernel.h"
#include "ops/tensors/float_rows.h"

namespace attnrun::ops {
namespace {

// The bytes of a panel that stay in the second-level cache while the windows of a tile are
// multiplied.
constexpr int64_t kPanelBytes = 384 << 10;

// The windows of a 1x1 convolution lie on one line.
SlidingWindow Simplified(const ConvShape& shape) {
  if (!IsPointwise(shape)) return OfTwoAxes(shape.window);
  SlidingWindow window;
  window.input = window.output = {1, shape.input_size};
  window.kernel = window.strides = window.dilations = {1, 1};
  window.pads_begin = window.pads_end = {0, 0};
  return window;
}

// The most windows of a tile.
constexpr int64_t kMostWindows = 2048;

// How many windows make up a tile. Results do not depend on it.
int64_t WindowsOfTile(const ConvShape& shape, const SlidingWindow& window) {
  // The floats of x that a tile may read, so that they stay in the second-level cache.
  constexpr int64_t kFloats = 1 << 15;
  // The weights that each tile may read anew, since they come from that cache.
  constexpr double kFewWeights = 1 << 17;
  constexpr int64_t kLeast = 256;
  constexpr int64_t kLeastOfFewWeights = 48;
  const size_t last = window.output.size() - 1;
  const double read = static_cast<double>(window.strides[last - 1] * window.strides[last]) *
                      static_cast<double>(shape.c);
  const int64_t most = std::clamp(static_cast<int64_t>(kFloats / read), kLeast, kMostWindows);
  const int64_t channels = shape.c / shape.group;
  const double weights =
      static_cast<double>(shape.m * channels) * static_cast<double>(shape.kernel_size);
  const int64_t least = weights <= kFewWeights ? kLeastOfFewWeights : kLeast;
  const int64_t parts = int64_t{NumThreads()} * kRangesPerThread;
  return std::clamp(DivCeil(shape.n * shape.output_size, parts), least, most);
}

// How the windows of an image are cut into tiles.
class Tiling {
 public:
  // `windows`: the number of windows of a tile, about.
  Tiling(const SlidingWindow& window, int64_t windows) : window_(window) {
    const size_t last = window.output.size() - 1;
    const int64_t lines = DivCeil(window.output[last], windows);
    line_ = DivCeil(DivCeil(window.output[last], lines), kTileRows) * kTileRows;
    line_ = std::min(line_, window.output[last]);
    const int64_t rows = std::clamp<int64_t>(windows / line_, 1, window.output[last - 1]);
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
double CopySize(const SlidingWindow& window, const Tiling& tiling, int64_t channels) {
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

struct TileOfImage {
  int64_t image;
  WindowTile windows;
};

struct Group {
  int64_t index;
  const PackedMatrix* weights;
};

// Panels that are multiplied at once.
struct Columns {
  int64_t panel;
  int64_t count;
};

class Multiplier {
 public:
  Multiplier(const ConvShape& shape, const SlidingWindow& window,
             const ChannelsLastOperands& operands)
      : shape_(shape),
        window_(window),
        operands_(operands),
        tiling_(window, WindowsOfTile(shape, window)),
        padded_(window, shape.c),
        in_place_(LiesInside(window)) {
    SetSegments();
  }

  const Tiling& tiling() const { return tiling_; }
  int64_t scratch_floats() const {
    return in_place_ ? 0 : static_cast<int64_t>(CopySize(window_, tiling_, shape_.c));
  }

  // Copies what a tile reads, unless it is read in place.
  Source Prepare(const TileOfImage& tile_of_image, float* scratch) const {
    const WindowTile& tile = tile_of_image.windows;
    const size_t last = window_.input.size() - 1;
    const float* const x = operands_.x + tile_of_image.image * shape_.input_size * shape_.c;
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
  void Multiply(const TileOfImage& tile, const Source& source, const Group& group,
                IndexRange panels) const {
    const std::vector<int64_t> offsets = SegmentOffsets(tile.windows);
    for (Columns columns = {panels.begin, 0}; columns.panel < panels.end;
         columns.panel += columns.count) {
      columns.count = PanelsAtOnce(*group.weights, columns.panel, panels.end);
      for (int64_t pass = 0; pass < passes_; ++pass) {
        for (int64_t row = tile.windows.rows.begin; row < tile.windows.rows.end; ++row) {
          MultiplyLine(tile, row, source, offsets, group, columns, pass);
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
    const int64_t bytes = segment_size_ * PanelWidth() * static_cast<int64_t>(sizeof(float));
    passes_ = DivCeil(num_segments(), std::max<int64_t>(kPanelBytes / bytes, 1));
  }

  // Two panels if they are the last ones and have few columns together.
  static int64_t PanelsAtOnce(const PackedMatrix& weights, int64_t panel, int64_t end) {
    const int64_t rest = weights.columns() - panel * PanelWidth();
    return panel + 2 == end && 3 * rest <= 4 * PanelWidth() ? 2 : 1;
  }

  // The segments of a row of windows that do not lie in the padding above or below the image, if
  // there are any.
  IndexRange SegmentsInside(int64_t row) const {
    const IndexRange all = {0, num_segments()};
    const size_t axis = window_.kernel.size() - 2;
    if (axis > 0) return all;
    const IndexRange taps = window_.TapsInside(axis, row);
    if (taps.begin >= taps.end) return all;
    const int64_t per_tap = num_segments() / window_.kernel[axis];
    return {taps.begin * per_tap, taps.end * per_tap};
  }

  std::vector<int64_t> SegmentOffsets(const WindowTile& tile) const {
    std::vector<int64_t> offsets(num_segments());
    for (size_t i = 0; i < offsets.size(); ++i)
      offsets[i] = SegmentOffset(tile, static_cast<int64_t>(i));
    return offsets;
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

  // Multiplies a row of windows of a tile; the sums grow pass by pass.
  void MultiplyLine(const TileOfImage& tile, int64_t row, const Source& source,
                    absl::Span<const int64_t> offsets, const Group& group, const Columns& columns,
                    int64_t pass) const {
    const IndexRange inside = SegmentsInside(row);
    const int64_t passes = std::min(passes_, inside.size());
    if (pass >= passes) return;
    const IndexRange segments = {inside.begin + inside.size() * pass / passes,
                                 inside.begin + inside.size() * (pass + 1) / passes};
    const int64_t width = PanelWidth();
    const int64_t column = group.index * group.weights->columns() + columns.panel * width;
    const int64_t y = PositionOf(tile, row) * shape_.m + column;
    PanelProduct product{};
    product.a = source.at + (row - tile.windows.rows.begin) * source.row_step +
                group.index * (shape_.c / shape_.group);
    product.lda = source.step;
    product.rows = tile.windows.line.size();
    product.segment_offsets = offsets.data() + segments.begin;
    product.segments = segments.size();
    product.k = segment_size_;
    product.blocks = std::max<int64_t>(DivCeil(segment_size_, kDepthBlock), 1);
    product.segments_per_block = std::max<int64_t>(kDepthBlock / segment_size_, 1);
    product.b = group.weights->panel(columns.panel) + segments.begin * segment_size_ * width;
    product.ldb = width;
    product.panel_stride = group.weights->rows() * width;
    product.padded = true;
    product.fetched = row > tile.windows.rows.begin;
    product.columns =
        std::min(columns.count * width, group.weights->columns() - columns.panel * width);
    product.c = operands_.y + y;
    product.ldc = shape_.m;
    product.accumulate = pass > 0;
    product.scale = 1;
    if (pass + 1 == passes) SetEnd(column, y, product);
    MultiplyPanels(product);
  }

  // Sets how sums end; `y` is the product's first element.
  void SetEnd(int64_t column, int64_t y, PanelProduct& product) const {
    if (operands_.bias != nullptr) product.bias = operands_.bias + column;
    product.activation = operands_.activation;
    product.residual_first = operands_.residual_first;
    if (operands_.residual != nullptr) product.residual = {operands_.residual + y, shape_.m, 1, 1};
  }

  // The position in y of the first window of a row of a tile.
  int64_t PositionOf(const TileOfImage& tile, int64_t row) const {
    const size_t last = window_.output.size() - 1;
    int64_t position = tile.image;
    for (size_t axis = 0; axis + 1 < last; ++axis) {
      position = position * window_.output[axis] + tile.windows.position[axis];
    }
    position = position * window_.output[last - 1] + row;
    return position * window_.output[last] + tile.windows.line.begin;
  }

  const ConvShape& shape_;
  const SlidingWindow& window_;
  const ChannelsLastOperands& operands_;
  const Tiling tiling_;
  const PaddedWindow padded_;
  const bool in_place_;
  int64_t segment_taps_;
  int64_t segment_size_;
  int64_t passes_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<const ImplicitGemm>> ImplicitGemm::Make(
    const ConvWeights& weights, const KernelContext& context) {
  KernelContext floats = context;
  floats.precision = Precision::kFloat32;
  // Its own loops read panels of kFloat32.
  floats.few_rows = true;
  // make_unique cannot call the private constructor.
  std::unique_ptr<ImplicitGemm> gemm(new ImplicitGemm);
  for (int64_t group = 0; group < weights.groups; ++group) {
    ATTNRUN_ASSIGN_OR_RETURN(std::shared_ptr<const PackedMatrix> packed,
                             PackedMatrix::Pack(weights.TapsFirst(group), floats));
    gemm->weights_.push_back(std::move(packed));
  }
  return gemm;
}

bool ImplicitGemm::Serves(const ConvShape& shape) {
  constexpr double kLargest = 1 << 26;
  const SlidingWindow window = Simplified(shape);
  const Tiling tiling(window, kMostWindows);
  return LiesInside(window) || CopySize(window, tiling, shape.c) <= kLargest;
}

absl::Status ImplicitGemm::Run(const ConvShape& shape, const ChannelsLastOperands& operands,
                               Allocator& allocator) const {
  const SlidingWindow window = Simplified(shape);
  const Multiplier multiplier(shape, window, operands);
  const int64_t tiles = multiplier.tiling().size();
  const int64_t panels = weights_[0]->num_panels();
  // Where there are few tiles, parts for all threads, in whole panels of all groups.
  const int64_t wanted = int64_t{NumThreads()} * kRangesPerThread;
  const int64_t all = panels * shape.group;
  const bool few = NumThreads() > 1 && 2 * shape.n * tiles < wanted;
  const int64_t parts = few ? std::min(all, DivCeil(wanted, shape.n * tiles)) : 1;
  return ParallelForWithScratch(
      shape.n * tiles * parts, 1, multiplier.scratch_floats(), allocator,
      [&](int64_t begin, int64_t end, float* scratch) {
        for (int64_t i = begin; i < end && !Interrupted(); ++i) {
          const int64_t index = i / parts;
          const TileOfImage tile = {index / tiles, multiplier.tiling()[index % tiles]};
          const Source source = multiplier.Prepare(tile, scratch);
          const IndexRange share = Part(all, i % parts, parts);
          for (int64_t group = share.begin / panels; group * panels < share.end; ++group) {
            multiplier.Multiply(tile, source, {group, weights_[group].get()},
                                {std::max<int64_t>(share.begin - group * panels, 0),
                                 std::min(share.end - group * panels, panels)});
          }
        }
      });
}

}  // namespace attnrun::ops
