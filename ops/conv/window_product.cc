// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/window_product.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/interrupt.h"
#include "core/status.h"
#include "ops/conv/conv_tiles.h"
#include "ops/conv/float_conv.h"
#include "ops/gemm/gemm.h"

namespace attnrun::ops {
namespace {

// The number of terms of a sum.
int64_t DepthOf(const ConvShape& shape) { return shape.c / shape.group * shape.kernel_size; }

// True if windows slide along a single axis over adjacent elements.
bool Slides(const SlidingWindow& window) {
  return window.kernel.size() == 1 && (window.kernel[0] == 1 || window.dilations[0] == 1);
}

// Nullopt if the copy would be absurdly larger than x.
std::optional<ImageLayout> LayoutOf(const ConvShape& shape) {
  ImageLayout layout;
  int64_t row_channels = shape.c;
  if (AreApart(shape.window)) {
    LayOutWindows(shape, layout);
    row_channels *= shape.kernel_size;
  } else {
    LayOutElements(shape, layout);
    const int64_t extent =
        (shape.output_size - 1) * shape.window.strides[0] + shape.window.reach(0);
    layout.source.output = {extent};
    layout.source_positions = layout.positions = extent;
  }
  layout.rows = row_channels;
  layout.groups = shape.group;
  layout.group_channels = row_channels / shape.group;
  layout.pieces = 1;
  layout.piece_channels = layout.group_channels;
  const double size = static_cast<double>(layout.positions) * static_cast<double>(row_channels);
  return IsWorthCopying(shape, size) ? std::optional(std::move(layout)) : std::nullopt;
}

// Computes one group of one image, some positions at a time.
class GroupProduct {
 public:
  GroupProduct(const MatrixView& windows, const PackedMatrix& weights, const float* bias, float* y)
      : windows_(windows), weights_(weights), bias_(bias), y_(y) {}

  // Positions that are computed at once: few enough that the product stays in cache until it is
  // transposed.
  static constexpr int64_t kPositions = 512;

  // `product`: [kPositions, features].
  void Run(float* product) const {
    for (int64_t begin = 0; begin < windows_.rows; begin += kPositions) {
      if (Interrupted()) return;
      const int64_t count = std::min(kPositions, windows_.rows - begin);
      MatrixView rows = windows_;
      rows.data = windows_.at(begin, 0);
      rows.rows = count;
      Epilogue epilogue;
      epilogue.bias = bias_;
      Gemm(rows, weights_, product, weights_.columns(), epilogue);
      StoreFeatures(product, count, weights_.columns(), y_ + begin, windows_.rows);
    }
  }

 private:
  const MatrixView windows_;
  const PackedMatrix& weights_;
  const float* const bias_;
  float* const y_;
};

}  // namespace

bool WindowProduct::Suits(const ConvShape& shape) {
  // With fewer features most of a panel is zeros.
  constexpr int64_t kFewFeatures = 16;
  return !IsDepthwise(shape) && !IsPointwise(shape) && !HasShortSum(shape) &&
         shape.m / shape.group >= kFewFeatures && (Slides(shape.window) || AreApart(shape.window));
}

absl::StatusOr<std::unique_ptr<const WindowProduct>> WindowProduct::Make(
    const ConvShape& shape, const ConvWeights& weights, const KernelContext& context) {
  if (!Suits(shape)) return nullptr;
  // make_unique cannot call the private constructor.
  std::unique_ptr<WindowProduct> product(new WindowProduct);
  const bool apart = AreApart(shape.window);
  for (int64_t group = 0; group < shape.group; ++group) {
    // The order of a window's elements in the copy of x: channels first where every window is a
    // position, else last.
    const StoredMatrix matrix = apart ? weights.ChannelsFirst(group) : weights.TapsFirst(group);
    ATTNRUN_ASSIGN_OR_RETURN(std::shared_ptr<const PackedMatrix> packed,
                             PackedMatrix::Pack(matrix, context, StoredConvType(context)));
    product->weights_.push_back(std::move(packed));
  }
  return product;
}

absl::StatusOr<bool> WindowProduct::Run(const ConvShape& shape, const Operands& operands,
                                        Allocator& allocator) const {
  const std::optional<ImageLayout> layout = LayoutOf(shape);
  if (!layout.has_value()) return false;
  const int64_t depth = DepthOf(shape);
  const int64_t features = shape.m / shape.group;
  ATTNRUN_ASSIGN_OR_RETURN(
      Tensor copy, Tensor::Allocate(DataType::kFloat, {shape.n, layout->image_size()}, allocator));
  auto* const images = copy.mutable_data<float>();
  CopyImages(*layout, shape, operands.x, images);
  const int64_t positions = std::min(GroupProduct::kPositions, shape.output_size);
  ATTNRUN_ASSIGN_OR_RETURN(Tensor product,
                           Tensor::Allocate(DataType::kFloat, {positions, features}, allocator));
  const int64_t step =
      AreApart(shape.window) ? depth : shape.window.strides[0] * depth / shape.kernel_size;
  for (int64_t i = 0; i < shape.n * shape.group; ++i) {
    const int64_t group = i % shape.group;
    const MatrixView windows = {images + i * layout->piece_size(), shape.output_size, depth, step};
    const float* const bias = operands.bias == nullptr ? nullptr : operands.bias + group * features;
    GroupProduct(windows, *weights_[group], bias, operands.y + i * features * shape.output_size)
        .Run(product.mutable_data<float>());
  }
  return true;
}

}  // namespace attnrun::ops
