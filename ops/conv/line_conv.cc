// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/line_conv.h"

#include <algorithm>

#include "core/div_ceil.h"
#include "core/interrupt.h"
#include "core/parallel.h"
#include "ops/conv/conv_tiling.h"
#include "ops/conv/line_product.h"
#include "ops/gemm/gemm_operands.h"
#include "ops/tensors/float_rows.h"

namespace attnrun::ops {
namespace {

// Positions of a line that are computed at once.
constexpr int64_t kPositions = 384;

// Computes parts of lines of y.
class LineParts {
 public:
  LineParts(const ConvShape& shape, const float* packed, const TiledConv::Operands& operands)
      : window_(shape.window),
        shape_(shape),
        packed_(packed),
        operands_(operands),
        last_(shape.window.output.size() - 1),
        channels_(shape.c / shape.group),
        features_(shape.m / shape.group),
        lines_(shape.kernel_size / shape.window.kernel[last_]),
        parts_(DivCeil(shape.window.output[last_], kPositions)) {
    const int64_t size = LineSize();
    for (int64_t line = 0; line < channels_ * lines_; ++line) {
      for (int64_t tap = 0; tap < window_.kernel[last_]; ++tap) {
        offsets_.push_back(line * size + tap * window_.dilations[last_]);
      }
    }
  }

  int64_t size() const {
    return shape_.n * shape_.group * (shape_.output_size / window_.output[last_]) * parts_;
  }
  int64_t scratch_floats() const { return channels_ * lines_ * LineSize() + kLineSlack; }

  void Run(int64_t index, float* scratch) const {
    const int64_t count = window_.output[last_];
    const IndexRange range = {index % parts_ * count / parts_,
                              (index % parts_ + 1) * count / parts_};
    index /= parts_;
    const int64_t lines = shape_.output_size / count;
    const int64_t image = index / lines;
    const int64_t group = image % shape_.group;
    Copy(image, index % lines, range, scratch);
    const int64_t depth = static_cast<int64_t>(offsets_.size());
    MultiplyLine({.x = scratch,
                  .offsets = offsets_,
                  .blocks = DivCeil(depth, kDepthBlock),
                  .w = packed_ + group * features_ * depth,
                  .features = features_,
                  .positions = range.size(),
                  .bias = operands_.bias == nullptr ? nullptr : operands_.bias + group * features_,
                  .y = operands_.y + image * features_ * shape_.output_size +
                       index % lines * count + range.begin,
                  .ldy = shape_.output_size});
  }

 private:
  // The floats of a line's copy.
  int64_t LineSize() const {
    return std::min(kPositions, window_.output[last_]) - 1 + window_.reach(last_);
  }

  // Copies what the windows of part of a line of y read of an image's group, padding included:
  // [channels, lines, LineSize()].
  void Copy(int64_t image, int64_t line, const IndexRange& range, float* to) const {
    Shape position(last_ + 1);
    for (size_t axis = last_; axis-- > 0; line /= window_.output[axis]) {
      position[axis] = line % window_.output[axis];
    }
    const int64_t begin = window_.coordinate(last_, range.begin, 0);
    const int64_t size = LineSize();
    const IndexRange inside = PositionsInside(begin, 1, 1, window_.input[last_], size);
    const float* x = operands_.x + image * channels_ * shape_.input_size;
    for (int64_t channel = 0; channel < channels_; ++channel, x += shape_.input_size) {
      for (int64_t tap = 0; tap < lines_; ++tap, to += size) {
        const auto offset = window_.LineOffset(position, tap);
        const IndexRange copied = offset.has_value() ? inside : IndexRange{size, size};
        std::fill_n(to, copied.begin, 0.0F);
        std::copy_n(x + offset.value_or(0) + begin + copied.begin, copied.size(),
                    to + copied.begin);
        std::fill_n(to + copied.end, size - copied.end, 0.0F);
      }
    }
  }

  const SlidingWindow& window_;
  const ConvShape& shape_;
  const float* const packed_;
  const TiledConv::Operands& operands_;
  const size_t last_;
  // Those of a group.
  const int64_t channels_;
  const int64_t features_;
  // Lines of x that a line of y reads, of each channel.
  const int64_t lines_;
  // Parts of a line.
  const int64_t parts_;
  std::vector<int64_t> offsets_;
};

}  // namespace

bool LineConv::Suits(const ConvShape& typical) {
  constexpr int64_t kMostFeatures = 32;
  // The most weights of a group, so that they stay in the first-level cache.
  constexpr int64_t kMostWeights = 1 << 14;
  const int64_t features = typical.m / typical.group;
  const int64_t depth = typical.c / typical.group * typical.kernel_size;
  if (typical.c == 0 || typical.m == 0 || typical.window.strides.back() != 1) return false;
  if (IsDepthwise(typical) || IsPointwise(typical)) return false;
  return features <= kMostFeatures && features * depth <= kMostWeights;
}

std::unique_ptr<const LineConv> LineConv::Make(const ConvShape& typical, const float* w) {
  const int64_t features = typical.m / typical.group;
  const int64_t depth = typical.c / typical.group * typical.kernel_size;
  // make_unique cannot call the private constructor.
  std::unique_ptr<LineConv> conv(new LineConv);
  conv->packed_.resize(typical.m * depth);
  for (int64_t group = 0; group < typical.group; ++group) {
    const int64_t at = group * features * depth;
    PackFeatures(w + at, features, depth, conv->packed_.data() + at);
  }
  return conv;
}

bool LineConv::Serves(const ConvShape& shape) {
  // The shortest line whose vectors are mostly positions, and the longest reach of a kernel.
  constexpr int64_t kShortest = 48;
  constexpr int64_t kLongest = 1 << 12;
  const size_t last = shape.window.output.size() - 1;
  return shape.window.output[last] >= kShortest && shape.window.reach(last) <= kLongest;
}

absl::Status LineConv::Run(const ConvShape& shape, const TiledConv::Operands& operands,
                           Allocator& allocator) const {
  const LineParts parts(shape, packed_.data(), operands);
  return ParallelForWithScratch(parts.size(), 1, parts.scratch_floats(), allocator,
                                [&](int64_t begin, int64_t end, float* scratch) {
                                  for (int64_t i = begin; i < end && !Interrupted(); ++i) {
                                    parts.Run(i, scratch);
                                  }
                                });
}

}  // namespace attnrun::ops
