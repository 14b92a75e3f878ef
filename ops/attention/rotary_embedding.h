#ifndef ATTNRUN_OPS_ATTENTION_ROTARY_EMBEDDING_H_
#define ATTNRUN_OPS_ATTENTION_ROTARY_EMBEDDING_H_

#include <memory>

#include "ops/attribute_reader.h"
#include "ops/op.h"

namespace attnrun {

struct RotaryShape {
  int64_t batch = 0;
  int64_t heads = 0;
  int64_t sequence = 0;
  int64_t head_size = 0;
  // Pairs of channels that are rotated; the channels after 2 * pairs stay.
  int64_t pairs = 0;
  // X is [batch, sequence, heads * head_size] instead of [batch, heads, sequence, head_size].
  bool merged = false;
  // Strides of position_ids over [batch, sequence], if given, else of the caches over [batch,
  // sequence, pairs].
  Shape strides = {};

  // The position in the batch and in the sequence of a row of head_size channels of X.
  int64_t BatchOf(int64_t row) const { return row / (heads * sequence); }
  int64_t PositionOf(int64_t row) const { return merged ? row / heads % sequence : row % sequence; }
};

// ONNX RotaryEmbedding-23 (X, cos_cache, sin_cache, position_ids?) -> Y. For each head and pair of
// channels (a, b), which are neighbours when interleaved, else half of the rotated channels apart:
//   a' = cos * a - sin * b, b' = sin * a + cos * b.
// The caches are [positions, pairs], looked up by position_ids [batch, sequence], or [batch,
// sequence, pairs] without them. Beyond the standard, ids and caches of batch 1 serve any batch:
// exporters write such models.
class RotaryEmbedding final : public Op {
 public:
  explicit RotaryEmbedding(AttributeReader& attributes)
      : interleaved_(attributes.Int("interleaved", 0) != 0),
        heads_(attributes.Int("num_heads", 0)),
        rotary_size_(attributes.Int("rotary_embedding_dim", 0)) {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(ConstantInputs constants) const override;

  absl::StatusOr<RotaryShape> Resolve(const OpContext& context) const;
  // Where in the caches the angles of a row of X begin.
  int64_t CacheOffset(const OpContext& context, const RotaryShape& shape, int64_t row) const;
  bool interleaved() const { return interleaved_; }

 private:
  absl::Status ResolveCaches(const OpContext& context, RotaryShape& shape) const;

  bool interleaved_;
  int64_t heads_;
  // 0: the whole head.
  int64_t rotary_size_;
};

}  // namespace attnrun

#endif  // ATTNRUN_OPS_ATTENTION_ROTARY_EMBEDDING_H_
