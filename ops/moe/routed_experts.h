// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_MOE_ROUTED_EXPERTS_H_
#define ATTNRUN_OPS_MOE_ROUTED_EXPERTS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/moe/experts_op.h"

namespace attnrun::ops {

// attnrun.Experts-1, made by the optimizer (x [..., H], experts int64 [..., k], weights [..., k],
// then for each of E experts the weight and bias? of layers 1, 2 and, perhaps left out, 3): y is
// the sum, in the order of `experts`, of what these experts, numbers from 0 to E - 1, return for a
// row of x, each times its weight. An expert computes what one of com.microsoft.MoE does (see Moe),
// with the same attributes. Weights are [N, K] where trans_w (ints, one for each layer) is 1, else
// [K, N].
class RoutedExperts final : public ExpertsOp {
 public:
  explicit RoutedExperts(AttributeReader& attributes);

  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::vector<ExpertLayers>> ReadExperts(Inputs input, int count) const override;
  absl::StatusOr<MoeShape> Resolve(const OpContext& context, MoeShape sizes) const override;
  absl::StatusOr<std::vector<std::vector<Route>>> ReadRoutes(const OpContext& context,
                                                             const MoeShape& shape) const override;
  bool IsOfLayer(int i) const override { return i >= kFirstLayer; }
  std::unique_ptr<ExpertsOp> Copy() const override {
    return std::make_unique<RoutedExperts>(*this);
  }

  // Inputs.
  static constexpr int kExperts = 1;
  static constexpr int kWeights = 2;
  static constexpr int kFirstLayer = 3;
  // A weight and a bias for each layer.
  static constexpr int kInputsPerExpert = 6;

 private:
  std::vector<int64_t> transposed_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_MOE_ROUTED_EXPERTS_H_
