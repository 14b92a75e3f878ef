// SPDX-License-Identifier: Apache-2.0
#include "ops/contrib/reference_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/elements.h"
#include "core/status.h"
#include "core/strided.h"

namespace attnrun::ops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Turns scores into probabilities. `sink`: one more score, whose probability is dropped (-inf:
// none).
void Softmax(std::vector<double>& row, double sink) {
  double largest = sink;
  for (const double score : row) largest = std::max(largest, score);
  double sum = sink == -kInfinity ? 0 : std::exp(sink - largest);
  for (double& score : row) {
    score = score == -kInfinity ? 0 : std::exp(score - largest);
    sum += score;
  }
  for (double& score : row) score = sum == 0 ? 0 : score / sum;
}

}  // namespace

ReferenceHeads ReferenceHeads::OfRows(const std::vector<double>& rows, int64_t batch,
                                      int64_t sequence, int64_t width, int64_t column,
                                      int64_t heads, int64_t size) {
  ReferenceHeads result(batch, heads, sequence, size);
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t s = 0; s < sequence; ++s) {
      for (int64_t i = 0; i < heads * size; ++i) {
        result.At(b, i / size, s, i % size) = rows[(b * sequence + s) * width + column + i];
      }
    }
  }
  return result;
}

ReferenceHeads ReferenceHeads::After(const ReferenceHeads* past) const {
  const int64_t before = past == nullptr ? 0 : past->sequence;
  ReferenceHeads result(batch, heads, before + sequence, size);
  for (int64_t row = 0; row < batch * heads * result.sequence; ++row) {
    const int64_t t = row % result.sequence;
    const int64_t n = row / result.sequence % heads;
    const int64_t b = row / result.sequence / heads;
    for (int64_t h = 0; h < size; ++h) {
      result.At(b, n, t, h) = t < before ? past->At(b, n, t, h) : At(b, n, t - before, h);
    }
  }
  return result;
}

std::vector<double> ReferenceHeads::Merged() const {
  std::vector<double> merged;
  for (int64_t row = 0; row < batch * sequence; ++row) {
    for (int64_t i = 0; i < heads * size; ++i) {
      merged.push_back(At(row / sequence, i / size, row % sequence, i % size));
    }
  }
  return merged;
}

absl::StatusOr<ReferenceHeads> ReadHeads(const OpContext& context, int i, const char* what,
                                         const Shape& expected) {
  const Tensor& tensor = context.input(i);
  bool fits = tensor.type() == context.input(0).type() && tensor.rank() == 4;
  for (int axis = 0; fits && axis < 4; ++axis) {
    fits = expected[axis] == -1 || tensor.dim(axis) == expected[axis];
  }
  if (!fits) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected ", what, " to be ", Name(context.input(0).type()), "[",
                     absl::StrJoin(expected, ","), "], where -1 is any extent, but it is ",
                     TypeAndShape(tensor)));
  }
  ReferenceHeads heads(tensor.dim(0), tensor.dim(1), tensor.dim(2), tensor.dim(3));
  ATTNRUN_ASSIGN_OR_RETURN(heads.values, ToDoubles(tensor));
  return heads;
}

ReferenceHeads ReferenceAttention::Run(const ReferenceHeads& q, const ReferenceHeads& k,
                                       const ReferenceHeads& v) const {
  ReferenceHeads y(q.batch, q.heads, q.sequence, v.size);
  for (int64_t row = 0; row < q.batch * q.heads * q.sequence; ++row) {
    const int64_t s = row % q.sequence;
    const int64_t n = row / q.sequence % q.heads;
    const int64_t b = row / q.sequence / q.heads;
    const int64_t kv = n / (q.heads / k.heads);
    std::vector<double> scores;
    for (int64_t t = 0; t < k.sequence; ++t) {
      double score = 0;
      for (int64_t h = 0; h < q.size; ++h) score += q.At(b, n, s, h) * k.At(b, kv, t, h);
      score *= scale;
      if (softcap != 0) score = softcap * std::tanh(score / softcap);
      scores.push_back(score + term(b, n, s, t));
    }
    Softmax(scores, sinks.empty() ? -kInfinity : sinks[n]);
    for (int64_t t = 0; t < k.sequence; ++t) {
      for (int64_t h = 0; h < v.size; ++h) y.At(b, n, s, h) += scores[t] * v.At(b, kv, t, h);
    }
  }
  return y;
}

absl::StatusOr<AttentionBias> AttentionBias::Read(const OpContext& context, int i,
                                                  const Shape& scores) {
  AttentionBias bias;
  if (!context.has_input(i)) return bias;
  const Tensor& tensor = context.input(i);
  if (tensor.type() != context.input(0).type()) {
    return absl::InvalidArgumentError(absl::StrCat("expected the attention bias to be ",
                                                   Name(context.input(0).type()), ", but it is ",
                                                   TypeAndShape(tensor)));
  }
  ATTNRUN_ASSIGN_OR_RETURN(bias.values_, ToDoubles(tensor));
  ATTNRUN_ASSIGN_OR_RETURN(bias.strides_, BroadcastStrides(tensor.shape(), scores));
  return bias;
}

double AttentionBias::At(int64_t b, int64_t n, int64_t s, int64_t t) const {
  return values_[b * strides_[0] + n * strides_[1] + s * strides_[2] + t * strides_[3]];
}

absl::StatusOr<AttentionMask> AttentionMask::Read(const OpContext& context, int i,
                                                  const Shape& scores) {
  AttentionMask mask;
  if (!context.has_input(i)) return mask;
  const Tensor& tensor = context.input(i);
  const int64_t batch = scores[0];
  const int64_t queries = scores[2];
  const int64_t keys = scores[3];
  const Shape& shape = tensor.shape();
  mask.batch_ = batch;
  if (shape == Shape{batch, keys}) {
    mask.strides_ = {keys, 0, 1};
  } else if (shape == Shape{batch, queries, keys}) {
    mask.strides_ = {queries * keys, keys, 1};
  } else if (shape == Shape{batch} || shape == Shape{2 * batch}) {
    mask.ends_ = true;
  }
  if (tensor.type() != DataType::kInt32 || (!mask.ends_ && mask.strides_.empty())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected a mask int32[", batch, ",", keys, "], [", batch, ",", queries, ",", keys, "], [",
        batch, "] or [", 2 * batch, "], but found ", TypeAndShape(tensor)));
  }
  ATTNRUN_ASSIGN_OR_RETURN(mask.values_, ToInts(tensor));
  return mask;
}

bool AttentionMask::IsUnmasked(int64_t b, int64_t s, int64_t t) const {
  if (values_.empty()) return true;
  if (!ends_) return values_[b * strides_[0] + s * strides_[1] + t * strides_[2]] > 0;
  const bool has_beginning = std::ssize(values_) == 2 * batch_;
  return t < values_[b] && (!has_beginning || t >= values_[batch_ + b]);
}

absl::StatusOr<ReferenceHeads> MaskedAttention::Run(const OpContext& context,
                                                    const ReferenceHeads& q,
                                                    const ReferenceHeads& k,
                                                    const ReferenceHeads& v) const {
  const Shape scores = {q.batch, q.heads, q.sequence, k.sequence};
  ATTNRUN_ASSIGN_OR_RETURN(const AttentionBias added, AttentionBias::Read(context, bias, scores));
  ATTNRUN_ASSIGN_OR_RETURN(const AttentionMask key_mask,
                           AttentionMask::Read(context, mask, scores));
  ReferenceAttention attention;
  attention.scale = scale.value_or(static_cast<float>(1 / std::sqrt(q.size)));
  attention.term = [&](int64_t b, int64_t n, int64_t s, int64_t t) {
    if (causal && t > s + past) return -kInfinity;
    return added.At(b, n, s, t) + (key_mask.IsUnmasked(b, s, t) ? 0 : static_cast<double>(filter));
  };
  return attention.Run(q, k, v);
}

}  // namespace attnrun::ops
