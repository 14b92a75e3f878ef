// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONV_TILED_CONV_H_
#define ATTNRUN_OPS_CONV_TILED_CONV_H_

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "attnrun/tensor.h"
#include "core/hash_map.h"
#include "ops/conv/conv_tiles.h"

namespace attnrun::ops {

// One node's convolution on oneDNN's primitives. Keeps the primitives that it created and the
// weights packed for them. Safe to call from many threads.
class TiledConv {
 public:
  struct Operands {
    const float* x;
    const float* w;
    // [M], or null.
    const float* bias;
    float* y;
  };

  // `constant_weights`: weights are the same in every call, so that packed ones are kept.
  explicit TiledConv(bool constant_weights) : constant_weights_(constant_weights) {}

  // y = w * x + bias, with scratch space from `allocator`. Returns false, having done nothing, if
  // there are no primitives for the shape.
  absl::StatusOr<bool> Run(const ConvShape& shape, const Operands& operands,
                           Allocator& allocator) const;

  // Creates the primitives, and packs constant weights, for calls of this shape.
  absl::Status Prepare(const ConvShape& shape, const float* w, bool bias) const;

 private:
  using Primitive = std::shared_ptr<const ConvPrimitive>;

  // Primitives that read weights packed in one layout; null entries are those that oneDNN lacks.
  struct Layout {
    Primitive model;
    Tensor weights;
    HashMap<Shape, Primitive> primitives;
  };
  struct Choice {
    TilePrimitives primitives;
    // All weights, packed by block of features, then by call.
    Tensor weights;
  };

  static Primitive Get(Layout& layout, const ConvPrimitiveShape& shape);
  static std::optional<TilePrimitives> GetAll(Layout& layout, const ConvTiling& tiling, bool bias);
  static absl::StatusOr<Tensor> Pack(const ConvTiling& tiling, const float* w,
                                     const ConvPrimitive& primitive, Allocator& allocator);
  // Nullopt if oneDNN lacks a primitive.
  absl::StatusOr<std::optional<Choice>> Choose(const ConvTiling& tiling, const float* w, bool bias,
                                               Allocator& allocator) const;

  const bool constant_weights_;
  mutable std::mutex mutex_;
  mutable std::vector<Layout> layouts_;
  // Shapes that oneDNN has no primitive for.
  mutable HashSet<Shape> lacking_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONV_TILED_CONV_H_
