// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONTRIB_ROTATION_H_
#define ATTNRUN_OPS_CONTRIB_ROTATION_H_

#include <vector>

#include "absl/status/statusor.h"
#include "ops/contrib/reference_attention.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// Tables [M, R / 2] of cosines and sines: the angles by which pairs of the first R channels of a
// head are rotated at M positions.
struct RotaryTables {
  int64_t positions = 0;
  int64_t pairs = 0;
  std::vector<double> cos = {};
  std::vector<double> sin = {};

  // Reads inputs i and i + 1. kInvalidArgument unless they are two such tables of the type of input
  // 0.
  static absl::StatusOr<RotaryTables> Read(const OpContext& context, int i);
  // Rotates each pair (x, y) of the heads at [b, s] by the angles of position[b * S + s], to (x cos
  // - y sin, x sin + y cos). Pairs are neighbors if `interleaved`, else R / 2 apart.
  // kInvalidArgument for positions outside the tables, or heads of fewer than R channels.
  absl::Status Rotate(const std::vector<int64_t>& position, bool interleaved,
                      ReferenceHeads& heads) const;
};

// com.microsoft RotaryEmbedding-1 (x, position_ids int64, cos_cache, sin_cache) -> y like x, which
// is [B, N, S, H] or [B, S, N * H]; the latter with N = `num_heads`, or else heads as wide as the
// tables say. position_ids are [B, S], or [1], the position of every sample's first token.
// `rotary_embedding_dim`: the number of channels of a head that are rotated (0: all). Not covered:
// is_packed_batching and scale.
class ContribRotaryEmbedding final : public Op {
 public:
  explicit ContribRotaryEmbedding(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;

 private:
  int64_t heads_;
  int64_t rotated_;
  bool interleaved_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONTRIB_ROTATION_H_
