// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/attention/rotary_embedding_kernel.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway asks.
#include "hwy/highway.h"
#include "ops/tensors/store_up_to-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnrun::ops::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rotates the pairs (x[i], x[i + pairs]); y may be x.
void RotateHalves(const float* x, const float* HWY_RESTRICT cos, const float* HWY_RESTRICT sin,
                  size_t pairs, float* y) {
  const hn::ScalableTag<float> d;
  for (size_t i = 0; i < pairs; i += hn::Lanes(d)) {
    const size_t n = HWY_MIN(hn::Lanes(d), pairs - i);
    const auto a = hn::LoadN(d, x + i, n);
    const auto b = hn::LoadN(d, x + i + pairs, n);
    const auto c = hn::LoadN(d, cos + i, n);
    const auto s = hn::LoadN(d, sin + i, n);
    StoreUpTo(hn::NegMulAdd(s, b, hn::Mul(c, a)), d, y + i, n);
    StoreUpTo(hn::MulAdd(s, a, hn::Mul(c, b)), d, y + i + pairs, n);
  }
}

// Rotates the pairs (x[2 * i], x[2 * i + 1]); y may be x.
void RotateNeighbors(const float* x, const float* HWY_RESTRICT cos, const float* HWY_RESTRICT sin,
                     size_t pairs, float* y) {
  const hn::ScalableTag<float> d;
  size_t i = 0;
  for (; i + hn::Lanes(d) <= pairs; i += hn::Lanes(d)) {
    hn::Vec<decltype(d)> a;
    hn::Vec<decltype(d)> b;
    hn::LoadInterleaved2(d, x + 2 * i, a, b);
    const auto c = hn::LoadU(d, cos + i);
    const auto s = hn::LoadU(d, sin + i);
    hn::StoreInterleaved2(hn::NegMulAdd(s, b, hn::Mul(c, a)), hn::MulAdd(s, a, hn::Mul(c, b)), d,
                          y + 2 * i);
  }
  for (; i < pairs; ++i) {
    const float a = x[2 * i];
    const float b = x[2 * i + 1];
    y[2 * i] = cos[i] * a - sin[i] * b;
    y[2 * i + 1] = sin[i] * a + cos[i] * b;
  }
}

}  // namespace attnrun::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>

#include "core/status.h"
#include "ops/attention/rotary_embedding.h"
#include "ops/tensors/float_rows.h"

namespace attnrun::ops {
namespace {

HWY_EXPORT(RotateHalves);
HWY_EXPORT(RotateNeighbors);

class RotaryEmbeddingKernel final : public Kernel {
 public:
  explicit RotaryEmbeddingKernel(const RotaryEmbedding& op) : op_(op) {}

  absl::string_view name() const override { return "highway"; }

  bool Accepts(const OpContext& context) const override {
    return IsFloatOrHalf(context.input(0).type());
  }

  absl::Status Run(OpContext& context) const override {
    ATTNRUN_ASSIGN_OR_RETURN(const RotaryShape shape, op_.Resolve(context));
    const Tensor& x = context.input(0);
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, x.type(), x.shape(), {0}));
    // Half-precision angles are converted once per position, not per head, and only those in use: a
    // cache may be far longer than the sequence.
    const bool half = x.type() != DataType::kFloat;
    Tensor angles[2] = {context.input(1), context.input(2)};
    for (Tensor& table : angles) {
      if (half) {
        ATTNRUN_ASSIGN_OR_RETURN(table, UsedAngles(context, shape, table));
      }
    }
    auto row = [&](int64_t i, const float* in, float* out) {
      const int64_t at =
          half ? AnglesOf(shape, i) * shape.pairs : op_.CacheOffset(context, shape, i);
      if (in != out) std::copy(in, in + shape.width, out);
      Rotate(shape, angles[0].data<float>() + at, angles[1].data<float>() + at, out);
    };
    return ForEachFloatRow(x, shape.width, *y, context.allocator(), row);
  }

 private:
  // Rotates the heads of a row in place.
  void Rotate(const RotaryShape& shape, const float* cos, const float* sin, float* row) const {
    for (const int64_t offset : shape.offsets) {
      float* head = row + offset;
      if (op_.interleaved()) {
        HWY_DYNAMIC_DISPATCH(RotateNeighbors)(head, cos, sin, shape.pairs, head);
      } else {
        HWY_DYNAMIC_DISPATCH(RotateHalves)(head, cos, sin, shape.pairs, head);
      }
    }
  }

  // The row of angles [batch, sequence] that belongs to a row of X.
  static int64_t AnglesOf(const RotaryShape& shape, int64_t row) {
    return shape.BatchOf(row) * shape.sequence + shape.PositionOf(row);
  }

  absl::StatusOr<Tensor> UsedAngles(const OpContext& context, const RotaryShape& shape,
                                    const Tensor& cache) const {
    ATTNRUN_ASSIGN_OR_RETURN(
        Tensor used, Tensor::Allocate(DataType::kFloat, {shape.batch, shape.sequence, shape.pairs},
                                      context.allocator()));
    // The first head of a sample has all of its positions.
    for (int64_t i = 0; shape.rows > 0 && i < shape.batch * shape.sequence; ++i) {
      const int64_t row = i / shape.sequence * (shape.rows / shape.batch) + i % shape.sequence;
      ReadFloats(cache, op_.CacheOffset(context, shape, row), shape.pairs,
                 used.mutable_data<float>() + i * shape.pairs);
    }
    return used;
  }

  const RotaryEmbedding op_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> RotaryEmbedding::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<RotaryEmbeddingKernel>(*this);
}

}  // namespace attnrun::ops
#endif  // HWY_ONCE
