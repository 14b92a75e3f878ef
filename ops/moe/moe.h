// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_MOE_MOE_H_
#define ATTNRUN_OPS_MOE_MOE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

enum class ExpertActivation { kRelu, kGelu, kSilu, kIdentity, kSwiglu };

struct MoeAttributes {
  // Experts per token.
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

// The tensors of one layer of all experts; all but `weight` may be undefined.
struct ExpertLayer {
  // [E, N, K], or codes uint8 [E, N, K bits / 8].
  Tensor weight;
  // [E, N] or [E, N, blocks].
  Tensor scales;
  Tensor zero_points;
  // [E, N]
  Tensor bias;
  int bits = 0;
  int64_t block_size = 0;
  int64_t k = 0;
  int64_t n = 0;
};

// A layer by its number, 0 to 2; its weight is undefined if there is none.
using ExpertLayers = std::vector<ExpertLayer>;

struct MoeShape {
  int64_t tokens;
  int64_t hidden;
  int64_t inner;
  int64_t experts;
};

// An expert that a token is sent to.
struct Route {
  int64_t expert;
  double weight;
};

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
class Moe final : public Op {
 public:
  Moe(AttributeReader& attributes, bool quantized);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

  const MoeAttributes& attributes() const { return attributes_; }

  // Returns input i of one application; undefined if left out.
  using Inputs = absl::FunctionRef<Tensor(int)>;
  // The layers of a node. kInvalidArgument unless their tensors fit each other and the attributes.
  absl::StatusOr<ExpertLayers> ReadLayers(Inputs input) const;
  // kInvalidArgument unless x and the router's inputs fit the layers.
  absl::StatusOr<MoeShape> Resolve(const OpContext& context, const ExpertLayers& layers) const;
  // The experts of each token.
  absl::StatusOr<std::vector<std::vector<Route>>> ReadRoutes(const OpContext& context,
                                                             const MoeShape& shape) const;

 private:
  MoeAttributes attributes_;
  bool quantized_;
};

// The weight of one expert and its bias, as views of the layer's tensors.
ExpertLayer ExpertOf(const ExpertLayer& layer, int64_t expert);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_MOE_MOE_H_
