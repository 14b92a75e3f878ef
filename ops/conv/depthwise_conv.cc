// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/depthwise_conv.h"

#include <algorithm>
#include <optional>

#include "core/div_ceil.h"
#include "core/interrupt.h"
#include "core/parallel.h"
#include "ops/conv/depthwise_lines.h"
#include "ops/gemm/gemm_operands.h"

namespace attnrun::ops {
namespace {

class DepthwiseLines {
 public:
  DepthwiseLines(const ConvShape& shape, const float* weights, const ChannelsLastOperands& operands)
      : shape_(shape), window_(shape.window), weights_(weights), operands_(operands) {}

  // Blocks of lines of all images.
  int64_t size() const { return DivCeil(num_lines(), kLines); }

  // Convolves a block, a part of the channels at a time, so that each stays in the first-level
  // cache with its weights.
  void Run(int64_t index) const {
    const int64_t begin = index * kLines;
    const int64_t end = std::min(begin + kLines, num_lines());
    std::vector<std::vector<TapLine>> taps;
    for (int64_t line = begin; line < end; ++line) taps.push_back(LinesOf(line));
    const int64_t parts = DivCeil(shape_.c, ChannelsAtOnce());
    for (int64_t part = 0; part < parts; ++part) {
      const IndexRange channels = {part * ChannelsAtOnce(),
                                   std::min((part + 1) * ChannelsAtOnce(), shape_.c)};
      for (int64_t line = begin; line < end; ++line) {
        RunLine(line, taps[line - begin], channels);
      }
    }
  }

 private:
  // Lines of a block.
  static constexpr int64_t kLines = 8;

  int64_t num_lines() const { return shape_.n * shape_.output_size / window_.output.back(); }

  int64_t ChannelsAtOnce() const {
    constexpr int64_t kFloats = 8192;
    constexpr int64_t kGranule = 64;
    const int64_t lines = shape_.kernel_size / window_.kernel.back();
    const int64_t channels = kFloats / (lines * window_.input.back());
    return std::max<int64_t>(channels / kGranule, 1) * kGranule;
  }

  void RunLine(int64_t line, absl::Span<const TapLine> taps, IndexRange channels) const {
    const int64_t size = window_.output.back() * shape_.c;
    float* const y = operands_.y + line * size;
    const bool ends = EndsWithSums(taps);
    SumChains(taps, channels, ends ? operands_.activation : Activation(), y);
    if (ends) return;
    const float* const residual =
        operands_.residual == nullptr ? nullptr : operands_.residual + line * size;
    EndLine({window_.output.back(), shape_.c, channels, residual, operands_.residual_first,
             operands_.activation, y});
  }

  // The lines of taps of a line of y that do not lie in the padding.
  std::vector<TapLine> LinesOf(int64_t line) const {
    const int64_t lines_of_image = shape_.output_size / window_.output.back();
    const int64_t image = line / lines_of_image;
    line %= lines_of_image;
    const size_t last = window_.output.size() - 1;
    Shape position(last + 1);
    for (size_t axis = last; axis-- > 0; line /= window_.output[axis]) {
      position[axis] = line % window_.output[axis];
    }
    const float* const x = operands_.x + image * shape_.input_size * shape_.c;
    std::vector<TapLine> lines;
    const int64_t width = window_.kernel[last];
    for (int64_t tap = 0; tap < shape_.kernel_size / width; ++tap) {
      const std::optional<int64_t> offset = window_.LineOffset(position, tap);
      if (!offset.has_value()) continue;
      lines.push_back({x + *offset * shape_.c, weights_ + tap * width * shape_.c});
    }
    return lines;
  }

  // True if nothing follows the sums of a single chain but an activation that clamps.
  bool EndsWithSums(absl::Span<const TapLine> lines) const {
    const int64_t width = window_.kernel.back();
    return operands_.residual == nullptr && ops::EndsWithSums(operands_.activation) &&
           std::max<int64_t>(std::ssize(lines), 1) * width <= kDepthBlock;
  }

  // Sums chains of at most kDepthBlock taps, as in products of matrices, and adds them one by one.
  // `activation` clamps each chain.
  void SumChains(absl::Span<const TapLine> lines, IndexRange channels, const Activation& activation,
                 float* y) const {
    const int64_t width = window_.kernel.back();
    const auto at_once = static_cast<size_t>(std::max<int64_t>(kDepthBlock / width, 1));
    bool first = true;
    for (size_t line = 0; line < lines.size() || first; line += at_once) {
      for (int64_t tap = 0; tap < width; tap += kDepthBlock) {
        SumLines(lines.subspan(std::min(line, lines.size()), at_once),
                 {tap, std::min(tap + kDepthBlock, width)}, channels, first, activation, y);
        first = false;
      }
    }
  }

  // Adds the sums over some lines and taps along them to all windows of a line.
  void SumLines(absl::Span<const TapLine> lines, IndexRange taps, IndexRange channels, bool first,
                const Activation& activation, float* y) const {
    const size_t last = window_.output.size() - 1;
    const int64_t count = window_.output[last];
    const IndexRange inside = PositionsInside(
        window_.coordinate(last, 0, taps.begin), window_.strides[last],
        (taps.size() - 1) * window_.dilations[last] + 1, window_.input[last], count);
    const auto sum = [&](int64_t begin, int64_t end, IndexRange part) {
      if (begin == end) return;
      SumRun({.lines = lines,
              .channels = shape_.c,
              .part = channels,
              .offset = window_.coordinate(last, begin, part.begin) * shape_.c,
              .step = window_.strides[last] * shape_.c,
              .tap_step = window_.dilations[last] * shape_.c,
              .taps = part,
              .count = end - begin,
              .y = y + begin * shape_.c,
              .bias = first ? operands_.bias : nullptr,
              .accumulate = !first,
              .activation = activation});
    };
    const auto clip = [&](int64_t position) {
      const IndexRange all = window_.TapsInside(last, position);
      sum(position, position + 1,
          {std::max(all.begin, taps.begin), std::max(all.begin, std::min(all.end, taps.end))});
    };
    for (int64_t i = 0; i < inside.begin; ++i) clip(i);
    sum(inside.begin, inside.end, taps);
    for (int64_t i = inside.end; i < count; ++i) clip(i);
  }

  const ConvShape& shape_;
  const SlidingWindow& window_;
  const float* const weights_;
  const ChannelsLastOperands& operands_;
};

}  // namespace

void ConvolveDepthwise(const ConvShape& shape, const float* weights,
                       const ChannelsLastOperands& operands) {
  // The fewest multiplications that are worth a thread.
  constexpr int64_t kLeast = 1 << 16;
  const DepthwiseLines lines(shape, weights, operands);
  const int64_t per_block = shape.flops() / (2 * lines.size());
  ParallelFor(lines.size(), kLeast / (per_block + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end && !Interrupted(); ++i) lines.Run(i);
  });
}

}  // namespace attnrun::ops
