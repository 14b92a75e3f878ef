// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_LINEAR_ATTENTION_LINEAR_ATTENTION_H_
#define ATTNRUN_OPS_LINEAR_ATTENTION_LINEAR_ATTENTION_H_

#include <memory>

#include "absl/status/statusor.h"
#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// The largest state_window of LinearAttention and CausalConvWithState.
inline constexpr int64_t kMostStateWindow = 8;

struct LinearAttentionAttributes {
  // The state decays, or is corrected by what it holds already.
  bool gated;
  bool delta;
  int64_t query_heads;
  int64_t heads;
  // Keys may have fewer heads than the state.
  bool keys_may_share;
  // 0: 1 / sqrt(size of a key).
  double scale;
  // The number of states of which the last ones are kept; 0: only the last state, without the axis.
  int64_t window;
};

// The extents of one call.
struct LinearAttentionShape {
  int64_t batch;
  int64_t tokens;
  // The heads of the state, and for each of them the number of output heads that read it.
  int64_t heads;
  int64_t readers;
  // The heads of the query, of which one serves `sharers` heads of the state.
  int64_t query_heads;
  int64_t sharers;
  // The same for the key.
  int64_t key_heads;
  int64_t key_sharers;
  int64_t key_size;
  int64_t value_size;
  // Each key element of a head has its own decay; each head its own beta.
  bool decay_per_key;
  bool beta_per_head;
  double scale;
  Shape output;
  Shape state;
};

// ONNX LinearAttention-27 and com.microsoft.LinearAttention-1 (query [B, T, Hq dk], key [B, T, H
// dk], value [B, T, H dv], past_state [B, H, dk, dv]?, decay [B, T, H or H dk]?, beta [B, T, H or
// 1]?) -> output [B, T, Hq dv], present_state. Each head of `kv_num_heads` has a state S [dk, dv],
// zero without a past, which every token t changes:
//
//   S = exp(decay_t) S                        with update_rule gated, gated_delta
//   v = beta_t (v_t - S^T k_t), or just v_t   with update_rule delta, gated_delta
//   S = S + k_t v^T
//   output_t = scale S^T q_t
//
// Each state is read by Hq / H heads of the query. com.microsoft's operator also takes an Hq that
// divides H, and then has H heads of output; keys of fewer heads, which divide H; and
// `state_window` W: past and present are [W, B, H,
// dk, dv], the states after each of the last W tokens, zero for those before the first one.
class LinearAttention final : public Op {
 public:
  explicit LinearAttention(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

 private:
  LinearAttentionAttributes attributes_;
};

// kInvalidArgument if the inputs do not fit each other or the attributes.
absl::StatusOr<LinearAttentionShape> ResolveLinearAttention(
    const LinearAttentionAttributes& attributes, const OpContext& context);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_LINEAR_ATTENTION_LINEAR_ATTENTION_H_
