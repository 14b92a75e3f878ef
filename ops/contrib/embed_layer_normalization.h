// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONTRIB_EMBED_LAYER_NORMALIZATION_H_
#define ATTNRUN_OPS_CONTRIB_EMBED_LAYER_NORMALIZATION_H_

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// com.microsoft EmbedLayerNormalization-1 (input_ids [B, S], segment_ids?, words [V, D], positions
// [M, D], segments?, gamma [D], beta [D], mask? [B, S], position_ids? [B or 1, S]) -> (y [B, S, D],
// mask_index? int32 [B], sum? [B, S, D]). All ids are int32:
//   sum = words[input_ids] + positions[position_ids] + segments[segment_ids]
//   y = LayerNormalization(sum) over the last axis
//   mask_index = the number of ones in each row of the mask; 0 without a mask
// Without position_ids token s is at position s.
class EmbedLayerNormalization final : public Op {
 public:
  enum Input {
    kIds,
    kSegmentIds,
    kWords,
    kPositions,
    kSegments,
    kGamma,
    kBeta,
    kMask,
    kPositionIds
  };

  explicit EmbedLayerNormalization(AttributeReader& attributes)
      : epsilon_(attributes.Float("epsilon", 1e-12F)) {
    attributes.Ignore("mask_index_type");
  }

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;

 private:
  float epsilon_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONTRIB_EMBED_LAYER_NORMALIZATION_H_
