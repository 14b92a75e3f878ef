// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_ATTENTION_ROTARY_EMBEDDING_H_
#define ATTNRUN_OPS_ATTENTION_ROTARY_EMBEDDING_H_

#include <memory>

#include "absl/container/inlined_vector.h"
#include "ops/attention/packed_heads.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// X as rows, each at one position, that hold heads of `head_size` channels: [batch, heads,
// sequence, head_size] with one head per row, [batch, sequence, width] with several.
struct RotaryShape {
  int64_t batch = 0;
  int64_t sequence = 0;
  int64_t rows = 0;
  int64_t width = 0;
  // The first columns of the heads to rotate within a row.
  absl::InlinedVector<int64_t, 64> offsets;
  int64_t head_size = 0;
  // Pairs of channels to rotate; the channels after 2 * pairs stay.
  int64_t pairs = 0;
  // Strides of position_ids over [batch, sequence] if given, else of the caches over [batch,
  // sequence, pairs].
  Shape strides = {};

  int64_t BatchOf(int64_t row) const { return row / (rows / batch); }
  int64_t PositionOf(int64_t row) const { return row % sequence; }
};

// ONNX RotaryEmbedding-23 (X, cos_cache, sin_cache, position_ids?) -> Y. For each head and pair of
// channels (a, b), which are neighbours when interleaved, else half of the rotated channels apart:
//   a' = cos * a - sin * b, b' = sin * a + cos * b.
// With position_ids [batch, sequence], the caches are tables [positions, pairs]; without, [batch,
// sequence, pairs]. Beyond the standard, ids and caches of batch 1 serve any batch, since exporters
// write such models.
//
// attnrun.RotaryEmbedding-1, made by the optimizer, is the same for X [batch, sequence, width] with
// head_size and head_offsets (see HeadColumns) instead of num_heads: it rotates Q and K within a
// packed projection. All other columns stay as they are.
class RotaryEmbedding final : public Op {
 public:
  explicit RotaryEmbedding(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

  absl::StatusOr<RotaryShape> Resolve(const OpContext& context) const;
  // The offset in the caches of the angles for a row of X.
  int64_t CacheOffset(const OpContext& context, const RotaryShape& shape, int64_t row) const;
  bool interleaved() const { return interleaved_; }

 private:
  absl::Status ResolveHeads(const Tensor& x, RotaryShape& shape) const;
  absl::Status ResolveCaches(const OpContext& context, RotaryShape& shape) const;

  // True for attnrun.RotaryEmbedding.
  bool packed_;
  bool interleaved_;
  int64_t heads_ = 0;
  HeadColumns columns_;
  // 0: the whole head.
  int64_t rotary_size_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_ATTENTION_ROTARY_EMBEDDING_H_
