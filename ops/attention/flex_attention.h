// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_ATTENTION_FLEX_ATTENTION_H_
#define ATTNRUN_OPS_ATTENTION_FLEX_ATTENTION_H_

#include <optional>

#include "absl/status/statusor.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// ai.onnx.preview FlexAttention-1 (q [B, N, S, H], k [B, M, T, H], v [B, M, T, W]) -> [B, N, S, W]:
// attention whose scores scale q k^T [B, N, S, T] pass through the graph score_mod before the
// softmax, and whose probabilities pass through prob_mod behind it. Both graphs may be left out;
// they have one input and one output of the same shape, in the type `softmax_precision` (default:
// double for double, else float). N / M heads of the query, one after the other, share one of the
// key.
class FlexAttention final : public Op {
 public:
  explicit FlexAttention(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;

 private:
  // The tensor behind the graph of that name, or itself if there is none.
  static absl::StatusOr<Tensor> Modified(OpContext& context, bool has_graph, const char* graph,
                                         Tensor tensor);

  bool has_score_mod_;
  bool has_prob_mod_;
  std::optional<float> scale_;
  DataType precision_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_ATTENTION_FLEX_ATTENTION_H_
