#ifndef ATTNRUN_OPS_LINEAR_LINEAR_H_
#define ATTNRUN_OPS_LINEAR_LINEAR_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "attnrun/shape.h"
#include "ops/attribute_reader.h"
#include "ops/matmul/activation.h"
#include "ops/op.h"
#include "ops/registry.h"

namespace attnrun {

// X as a matrix [M, K], W as [K, N], and Y's shape.
struct LinearShape {
  int64_t m = 0;
  int64_t k = 0;
  int64_t n = 0;
  Shape output;
};

// attnrun.Linear-1, made by the optimizer: Y = activation(X·W + bias) + residual with inputs
// X [..., K] of rank 1 or more, W [K, N], bias? [N] and residual?, which broadcasts to Y [..., N].
// Attributes: trans_w (int, 0): W is [N, K]; activation (string): one of kActivationNames. All
// inputs are floats, perhaps of different types; Y has that of X.
class Linear final : public Op {
 public:
  explicit Linear(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(ConstantInputs constants) const override;

  // Inputs.
  static constexpr int kX = 0;
  static constexpr int kWeight = 1;
  static constexpr int kBias = 2;
  static constexpr int kResidual = 3;

  // kInvalidArgument for inputs that do not fit together.
  absl::StatusOr<LinearShape> Resolve(const OpContext& context) const;

  bool transpose_weight() const { return transpose_weight_; }
  Activation activation() const { return activation_; }

 private:
  bool transpose_weight_;
  Activation activation_;
};

// attnrun.Linear and attnrun.GatedActivation.
void RegisterLinear(OpRegistry& registry);

}  // namespace attnrun

#endif  // ATTNRUN_OPS_LINEAR_LINEAR_H_
