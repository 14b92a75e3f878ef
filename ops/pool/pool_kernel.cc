// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <mutex>
#include <optional>

#include "absl/algorithm/container.h"
#include "core/div_ceil.h"
#include "core/hash_map.h"
#include "core/interrupt.h"
#include "core/status.h"
#include "ops/pool/channel_pool.h"
#include "ops/pool/direct_pool.h"
#include "ops/pool/pool.h"
#include "ops/pool/pool_primitive.h"
#include "ops/tensors/float_operands.h"
#include "ops/tensors/float_rows.h"

namespace attnrun::ops {
namespace {

// The number of images that are pooled at once, as the channels of one image: whole vectors of
// them, few enough to stay in cache.
int64_t ImagesAtOnce(const PoolShape& shape) {
  constexpr int64_t kVector = 16;
  constexpr int64_t kElements = 65536;
  const int64_t vectors = kElements / kVector / std::max<int64_t>(shape.input_size, 1);
  return std::min(shape.count, std::max<int64_t>(vectors, 1) * kVector);
}

// True if there is neither NaN nor -inf.
bool HasMaxima(const float* x, int64_t count) {
  constexpr int64_t kAtOnce = 1024;
  for (int64_t begin = 0; begin < count; begin += kAtOnce) {
    const int64_t end = std::min(begin + kAtOnce, count);
    // An int, so that the compiler vectorizes the loop.
    int others = 0;
    for (int64_t i = begin; i < end; ++i) {
      others |= static_cast<int>(!(x[i] >= std::numeric_limits<float>::lowest()));
    }
    if (others != 0) return false;
  }
  return true;
}

// Runs oneDNN's primitives, vectors of channels where these are the last axis, or loops where
// primitives differ from ONNX. Indices of maxima are left to the
// reference.
class PoolKernel final : public Kernel {
 public:
  explicit PoolKernel(const PoolAttributes& attributes) : attributes_(attributes) {}

  absl::string_view name() const override { return "onednn or loops"; }

  bool Accepts(const OpContext& context) const override {
    const Tensor& x = context.input(0);
    if (!IsFloatOrHalf(x.type()) || context.wants_output(1)) return false;
    const absl::StatusOr<PoolShape> shape = ResolvePool(attributes_, x);
    if (!shape.ok()) return false;
    // An x without elements may have an absurd extent all the same.
    const bool is_empty = absl::c_linear_search(shape->output, 0);
    if (is_empty || IsChannelPool(*shape) || CanPoolDirectly(*shape)) return true;
    // Maxima of images with NaN are computed by loops.
    return attributes_.pooling != Pooling::kMax && Get(*shape, ImagesAtOnce(*shape)) != nullptr;
  }

  absl::Status Run(OpContext& context) const override {
    Allocator& allocator = context.allocator();
    ATTNRUN_ASSIGN_OR_RETURN(const PoolShape shape, ResolvePool(attributes_, context.input(0)));
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor x, ToFloat(context.input(0), allocator));
    ATTNRUN_ASSIGN_OR_RETURN(
        FloatOutput y, FloatOutput::Allocate(context, 0, context.input(0).type(), shape.output));
    if (y.num_elements() == 0) return absl::OkStatus();
    if (IsChannelPool(shape)) {
      PoolChannels(attributes_, shape, x.data<float>(), y.data());
      y.Store();
      return absl::OkStatus();
    }
    const Primitive whole = Get(shape, ImagesAtOnce(shape));
    const bool maximum = attributes_.pooling == Pooling::kMax;
    if (whole == nullptr || (maximum && !HasMaxima(x.data<float>(), x.num_elements()))) {
      PoolDirectly(attributes_, shape, x.data<float>(), y.data());
    } else {
      ATTNRUN_RETURN_IF_ERROR(RunPrimitives(shape, *whole, x.data<float>(), y.data(), allocator));
    }
    y.Store();
    return absl::OkStatus();
  }

 private:
  using Primitive = std::shared_ptr<const PoolPrimitive>;

  absl::Status RunPrimitives(const PoolShape& shape, const PoolPrimitive& whole, const float* x,
                             float* y, Allocator& allocator) const {
    const int64_t at_once = ImagesAtOnce(shape);
    const Primitive rest = Get(shape, shape.count % at_once);
    return ParallelForWithScratch(
        DivCeil(shape.count, at_once), 1, whole.scratch_floats(), allocator,
        [&](int64_t begin, int64_t end, float* scratch) {
          for (int64_t i = begin; i < end && !Interrupted(); ++i) {
            const int64_t first = i * at_once;
            const PoolPrimitive& primitive = first + at_once <= shape.count ? whole : *rest;
            primitive.Run(x + first * shape.input_size, y + first * shape.output_size, scratch);
          }
        });
  }

  // The primitive for `images` at once; null if there is none, or nothing to do.
  Primitive Get(const PoolShape& shape, int64_t images) const {
    if (images == 0) return nullptr;
    Shape key = shape.window.input;
    key.push_back(images);
    constexpr size_t kMost = 256;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (const auto found = primitives_.find(key); found != primitives_.end()) return found->second;
    if (primitives_.size() == kMost) primitives_.clear();
    const auto window = PoolPrimitive::Normalized(attributes_, shape.window);
    return primitives_[key] =
               window.has_value() ? PoolPrimitive::Make(attributes_, *window, images) : nullptr;
  }

  const PoolAttributes attributes_;
  mutable std::mutex mutex_;
  // By the extents of an image, then the number of images.
  mutable HashMap<Shape, Primitive> primitives_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> Pool::MakeKernel(const KernelContext& /*context*/) const {
  if (attributes_.pooling == Pooling::kLp) return nullptr;
  return std::make_unique<PoolKernel>(attributes_);
}

}  // namespace attnrun::ops
