// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_MOE_EXPERTS_OP_H_
#define ATTNRUN_OPS_MOE_EXPERTS_OP_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

enum class ExpertActivation { kRelu, kGelu, kSilu, kIdentity, kSwiglu };

struct MoeAttributes {
  // Experts per token, where the operator chooses them.
  int64_t k;
  // The weights of a token's experts are divided by their sum.
  bool normalize;
  ExpertActivation activation;
  // 0: the gate is layer 1, the other factor layer 3. 1: both are layer 1, in turns. 2: layer 1 has
  // the gate first, then the other factor.
  int64_t fusion;
  float alpha;
  float beta;
  std::optional<float> limit;
  // The bits of a code in each layer's weights; 0: the weights are floats.
  int bits[3];
  // Codes along K that share a scale; 0: all.
  int64_t block_size;
};

// The tensors of one layer of an expert; all but `weight` may be undefined. Those of E experts have
// an axis E before the others.
struct ExpertLayer {
  // [N, K], or codes uint8 [N, K bits / 8].
  Tensor weight;
  // [N] or [N, blocks].
  Tensor scales;
  Tensor zero_points;
  // [N]
  Tensor bias;
  int bits = 0;
  int64_t block_size = 0;
  int64_t k = 0;
  int64_t n = 0;
};

// Layers 1 to 3, in this order; a layer that is not there has no weight.
using ExpertLayers = std::vector<ExpertLayer>;

struct MoeShape {
  int64_t tokens = 0;
  int64_t hidden = 0;
  int64_t inner = 0;
  int64_t experts = 0;
  // Experts per token.
  int64_t k = 0;
};

// An expert that a token is sent to.
struct Route {
  int64_t expert;
  double weight;
};

// An operator that sends each token, a row of input 0, to some of its experts. The result of the
// token is the sum of what they return, each times a weight, in the order of its routes.
class ExpertsOp : public Op {
 public:
  absl::Status Reference(OpContext& context) const final;
  void Infer(InferContext& context) const final;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const final;

  const MoeAttributes& attributes() const { return attributes_; }

  // Returns input i of one application; undefined if left out.
  using Inputs = absl::FunctionRef<Tensor(int)>;
  // The experts of a node that has `count` inputs. kInvalidArgument unless their tensors fit each
  // other and the attributes.
  virtual absl::StatusOr<std::vector<ExpertLayers>> ReadExperts(Inputs input, int count) const = 0;
  // Adds tokens and k to the sizes of the experts. kInvalidArgument unless x and the router's
  // inputs fit these.
  virtual absl::StatusOr<MoeShape> Resolve(const OpContext& context, MoeShape sizes) const = 0;
  // The experts of each token, `shape.k` of them.
  virtual absl::StatusOr<std::vector<std::vector<Route>>> ReadRoutes(
      const OpContext& context, const MoeShape& shape) const = 0;
  // True if input i belongs to a layer.
  virtual bool IsOfLayer(int i) const = 0;
  virtual std::unique_ptr<ExpertsOp> Copy() const = 0;

 protected:
  // Reads what the experts compute: activation_type, activation_alpha, activation_beta,
  // swiglu_fusion and swiglu_limit.
  explicit ExpertsOp(AttributeReader& attributes);

  MoeAttributes attributes_ = {};
};

// The sizes of experts, of which there is at least one.
MoeShape SizesOf(const std::vector<ExpertLayers>& experts);

absl::Status UnfitTensor(absl::string_view what, const Shape& expected, const Tensor& found);

// Checks layers 1 to 3, which are those of one expert or, with an axis of extent `experts` before
// the others, of all, and sets k and n. Layer 2 has `hidden` outputs.
absl::Status CheckLayers(const MoeAttributes& attributes, std::optional<int64_t> experts,
                         ExpertLayers& layers);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_MOE_EXPERTS_OP_H_
