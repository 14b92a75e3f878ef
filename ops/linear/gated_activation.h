// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_LINEAR_GATED_ACTIVATION_H_
#define ATTNRUN_OPS_LINEAR_GATED_ACTIVATION_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "attnrun/shape.h"
#include "ops/gemm/activation.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// attnrun.GatedActivation-1, made by the optimizer, with one input X [..., W], floats, in which one
// projection has computed gate and up side by side. Y [..., width]:
//   y[i] = activation(x[gate + i]) * x[up + i].
// Attributes: width, gate, up (ints, required) and activation (see Linear).
class GatedActivation final : public Op {
 public:
  explicit GatedActivation(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

  // The shape of Y; kInvalidArgument if X does not hold gate and up.
  absl::StatusOr<Shape> Resolve(const OpContext& context) const;

  Activation activation() const { return activation_; }
  int64_t width() const { return width_; }
  int64_t gate() const { return gate_; }
  int64_t up() const { return up_; }

 private:
  Activation activation_;
  int64_t width_;
  int64_t gate_;
  int64_t up_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_LINEAR_GATED_ACTIVATION_H_
