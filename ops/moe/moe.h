// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_MOE_MOE_H_
#define ATTNRUN_OPS_MOE_MOE_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/moe/experts_op.h"

namespace attnrun::ops {

// com.microsoft MoE-1 and QMoE-1 (x [T, H] or [B, S, H], router_probs [T, E], layers 1, 2 and 3 of
// E experts): each token goes to the k experts of its greatest router_probs, the lower number first
// among equal ones, and y is the sum of their outputs, weighted by the softmax of router_probs, in
// MoE over all experts, in QMoE over the chosen ones, or, if QMoE has router_weights, by these;
// with `normalize_routing_weights` divided by their sum. An expert is
//
//   layer 2 (f(layer 1 (x)) * layer 3 (x)), layer(v) = v W^T + bias
//
// without the product if there is no layer 3. `activation_type`: relu, gelu (by tanh), silu,
// identity, or swiglu: g sigmoid(alpha g) (l + beta), where both g and l may be in layer 1 (see
// MoeAttributes) and are cut at swiglu_limit, g from above. QMoE's weights are codes of 2, 4 or 8
// bits, low bits first: (code - zero point) scale, per row or per block_size elements of a row. Not
// covered: use_sparse_mixer, weights of 4- and 8-bit floats.
class Moe final : public ExpertsOp {
 public:
  Moe(AttributeReader& attributes, bool quantized);

  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::vector<ExpertLayers>> ReadExperts(Inputs input, int count) const override;
  absl::StatusOr<MoeShape> Resolve(const OpContext& context, MoeShape sizes) const override;
  absl::StatusOr<std::vector<std::vector<Route>>> ReadRoutes(const OpContext& context,
                                                             const MoeShape& shape) const override;
  bool IsOfLayer(int i) const override { return i >= 2 && i < 14; }
  std::unique_ptr<ExpertsOp> Copy() const override { return std::make_unique<Moe>(*this); }

 private:
  bool quantized_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_MOE_MOE_H_
