// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONTRIB_REFERENCE_ATTENTION_H_
#define ATTNRUN_OPS_CONTRIB_REFERENCE_ATTENTION_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "attnrun/tensor.h"
#include "ops/interface/op_context.h"

// Shared by the reference code of ONNX Runtime's attention operators.
namespace attnrun::ops {

// Queries, keys or values as doubles [b, n, s, h]: sample, head, position, channel.
struct ReferenceHeads {
  int64_t batch = 0;
  int64_t heads = 0;
  int64_t sequence = 0;
  int64_t size = 0;
  std::vector<double> values = {};

  ReferenceHeads(int64_t b, int64_t n, int64_t s, int64_t h)
      : batch(b), heads(n), sequence(s), size(h), values(b * n * s * h) {}
  double& At(int64_t b, int64_t n, int64_t s, int64_t h) {
    return values[((b * heads + n) * sequence + s) * size + h];
  }
  double At(int64_t b, int64_t n, int64_t s, int64_t h) const {
    return values[((b * heads + n) * sequence + s) * size + h];
  }
  Shape shape() const { return {batch, heads, sequence, size}; }

  // From a matrix of rows [b, s], `width` wide, where head n begins at column + n * size.
  static ReferenceHeads OfRows(const std::vector<double>& rows, int64_t batch, int64_t sequence,
                               int64_t width, int64_t column, int64_t heads, int64_t size);
  // `past` [b, n, p, h], which may be null, followed by these.
  ReferenceHeads After(const ReferenceHeads* past) const;
  // Rows [b, s, n * h].
  std::vector<double> Merged() const;
};

// Reads input i, a tensor [b, n, s, h] of the type of input 0. kInvalidArgument, naming `what`,
// unless it has rank 4 and the extents `expected`, where -1 means any.
absl::StatusOr<ReferenceHeads> ReadHeads(const OpContext& context, int i, const char* what,
                                         const Shape& expected);

// scores = scale * Q K^T + term(b, n, s, t), where a term of -inf masks a key; y = softmax(scores)
// V. A head of K and V serves a group of neighboring heads of Q. A fully masked row gives 0.
struct ReferenceAttention {
  double scale = 1;
  // Unless 0: scores = softcap * tanh(scores / softcap) before the term is added.
  double softcap = 0;
  std::function<double(int64_t b, int64_t n, int64_t s, int64_t t)> term;
  // One more score per head, whose probability is dropped; may be empty.
  std::vector<double> sinks = {};

  ReferenceHeads Run(const ReferenceHeads& q, const ReferenceHeads& k,
                     const ReferenceHeads& v) const;
};

// The bias that is added to the scores, broadcast to [b, n, s, t]; 0 if the input is left out.
class AttentionBias {
 public:
  // kInvalidArgument unless the input is left out or has the type of input 0 and broadcasts.
  static absl::StatusOr<AttentionBias> Read(const OpContext& context, int i, const Shape& scores);
  double At(int64_t b, int64_t n, int64_t s, int64_t t) const;

 private:
  std::vector<double> values_ = {0};
  Shape strides_ = {0, 0, 0, 0};
};

// The optional mask of com.microsoft Attention and MultiHeadAttention, int32 input i. It is one of
//   [B, T] or [B, S, T]    numbers above 0 unmask keys
//   [B]                    the end of each sample's unmasked keys
//   [2 B]                  their ends, then their beginnings
class AttentionMask {
 public:
  static absl::StatusOr<AttentionMask> Read(const OpContext& context, int i, const Shape& scores);
  bool IsUnmasked(int64_t b, int64_t s, int64_t t) const;

 private:
  // Empty: all keys are unmasked.
  std::vector<int64_t> values_ = {};
  // Strides of [b, s, t], unless `ends_`.
  std::vector<int64_t> strides_ = {};
  // The values are the ends of all samples, then, if there are any, the beginnings.
  bool ends_ = false;
  int64_t batch_ = 0;
};

// The attention that com.microsoft Attention and MultiHeadAttention share, where `past` keys and
// values precede the given ones: scores + bias (input `bias`), plus `filter` for keys that the mask
// (input `mask`) masks. If `causal`, query s sees keys up to past + s.
struct MaskedAttention {
  int bias = 0;
  int mask = 0;
  int64_t past = 0;
  bool causal = false;
  float filter = 0;
  // Nullopt: 1 / sqrt(H).
  std::optional<float> scale = {};

  absl::StatusOr<ReferenceHeads> Run(const OpContext& context, const ReferenceHeads& q,
                                     const ReferenceHeads& k, const ReferenceHeads& v) const;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONTRIB_REFERENCE_ATTENTION_H_
