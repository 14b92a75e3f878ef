// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONTRIB_NAIVE_ATTENTION_H_
#define ATTNRUN_OPS_CONTRIB_NAIVE_ATTENTION_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "attnrun/tensor.h"
#include "ops/interface/op_context.h"

// What the reference code of ONNX Runtime's attention operators has in common.
namespace attnrun::ops {

// Elements [b, n, s, h]: sample, head, position, channel.
struct NaiveHeads {
  int64_t batch = 0;
  int64_t heads = 0;
  int64_t sequence = 0;
  int64_t size = 0;
  std::vector<double> values = {};

  NaiveHeads(int64_t b, int64_t n, int64_t s, int64_t h)
      : batch(b), heads(n), sequence(s), size(h), values(b * n * s * h) {}
  double& At(int64_t b, int64_t n, int64_t s, int64_t h) {
    return values[((b * heads + n) * sequence + s) * size + h];
  }
  double At(int64_t b, int64_t n, int64_t s, int64_t h) const {
    return values[((b * heads + n) * sequence + s) * size + h];
  }
  Shape shape() const { return {batch, heads, sequence, size}; }

  // Those of a matrix of rows [b, s], `width` wide, of which head n begins at column + n * size.
  static NaiveHeads OfRows(const std::vector<double>& rows, int64_t batch, int64_t sequence,
                           int64_t width, int64_t column, int64_t heads, int64_t size);
  // `past` [b, n, p, h], which may be null, and then these.
  NaiveHeads After(const NaiveHeads* past) const;
  // As [b, s, n * h].
  std::vector<double> Merged() const;
};

// A tensor [b, n, s, h] of the type of input 0. kInvalidArgument, naming `what`, unless it has that
// rank and these extents; -1 is any.
absl::StatusOr<NaiveHeads> ReadHeads(const OpContext& context, int i, const char* what,
                                     const Shape& expected);

// scores = scale * Q K^T + term(b, n, s, t), of which -inf closes a key; y = softmax(scores) V.
// Heads of K and V serve neighbouring heads of Q. A row without open keys gives 0.
struct NaiveAttention {
  double scale = 1;
  // scores = softcap * tanh(scores / softcap) before the term is added; 0: not.
  double softcap = 0;
  std::function<double(int64_t b, int64_t n, int64_t s, int64_t t)> term;
  // One more score of each head, whose probability goes nowhere; may be empty.
  std::vector<double> sinks = {};

  NaiveHeads Run(const NaiveHeads& q, const NaiveHeads& k, const NaiveHeads& v) const;
};

// What broadcasts to [b, n, s, t] and is added to the scores; 0 if the input is left out.
class NaiveBias {
 public:
  // kInvalidArgument unless the input is left out or has the type of input 0 and broadcasts.
  static absl::StatusOr<NaiveBias> Read(const OpContext& context, int i, const Shape& scores);
  double At(int64_t b, int64_t n, int64_t s, int64_t t) const;

 private:
  std::vector<double> values_ = {0};
  Shape strides_ = {0, 0, 0, 0};
};

// The mask that com.microsoft Attention and MultiHeadAttention take as input i, if it is given,
// int32: which keys are open, as [B, T] or [B, S, T], where numbers above 0 are open; how many keys
// of each sample are, [B]; or behind which key they end and with which they begin, [2 B].
class NaiveMask {
 public:
  static absl::StatusOr<NaiveMask> Read(const OpContext& context, int i, const Shape& scores);
  bool IsOpen(int64_t b, int64_t s, int64_t t) const;

 private:
  // Empty: all are open.
  std::vector<int64_t> values_ = {};
  // Of [b, s, t], unless `ends_`.
  std::vector<int64_t> strides_ = {};
  // Per sample the end, then, behind them, the beginning.
  bool ends_ = false;
  int64_t batch_ = 0;
};

// The attention that com.microsoft Attention and MultiHeadAttention have in common, of keys and
// values that `past` ones come before: scores + bias, which is input `bias`, plus `filter` where
// the mask, input `mask`, closes a key, and causal from the past's end on.
struct MaskedAttention {
  int bias = 0;
  int mask = 0;
  int64_t past = 0;
  bool causal = false;
  float filter = 0;
  // 1 / sqrt(H) if it is left out.
  std::optional<float> scale = {};

  absl::StatusOr<NaiveHeads> Run(const OpContext& context, const NaiveHeads& q, const NaiveHeads& k,
                                 const NaiveHeads& v) const;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONTRIB_NAIVE_ATTENTION_H_
