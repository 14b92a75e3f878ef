// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/elements.h"
#include "core/status.h"
#include "ops/attention/attention.h"
#include "ops/attention/probabilities_reference.h"

namespace attnrun::ops {
namespace {

constexpr double kMasked = -std::numeric_limits<double>::infinity();

// Elements addressed by batch, head, position and channel, in either layout.
struct HeadValues {
  std::vector<double> values = {};
  int64_t heads = 0;
  int64_t sequence = 0;
  int64_t size = 0;
  bool merged = false;

  double At(int64_t b, int64_t n, int64_t s, int64_t h) const {
    const int64_t row = merged ? (b * sequence + s) * heads + n : (b * heads + n) * sequence + s;
    return values[row * size + h];
  }
};

absl::StatusOr<HeadValues> Read(const Tensor& tensor, int64_t heads, int64_t size) {
  HeadValues result{.heads = heads, .size = size, .merged = tensor.rank() == 3};
  result.sequence = tensor.dim(result.merged ? 1 : 2);
  ATTNRUN_ASSIGN_OR_RETURN(result.values, ToDoubles(tensor));
  return result;
}

// Past and current keys (or values) as [batch, heads, sequence, size].
absl::StatusOr<HeadValues> Present(const OpContext& context, int current, int past,
                                   const AttentionShape& shape, int64_t size) {
  ATTNRUN_ASSIGN_OR_RETURN(const HeadValues now,
                           Read(context.input(current), shape.kv_heads, size));
  HeadValues before{.heads = shape.kv_heads, .size = size};
  if (context.has_input(past)) {
    ATTNRUN_ASSIGN_OR_RETURN(before, Read(context.input(past), shape.kv_heads, size));
  }
  HeadValues all{.heads = shape.kv_heads, .sequence = shape.keys, .size = size};
  all.values.reserve(before.values.size() + now.values.size());
  for (int64_t b = 0; b < shape.batch; ++b) {
    for (int64_t n = 0; n < shape.kv_heads; ++n) {
      for (int64_t t = 0; t < shape.keys; ++t) {
        for (int64_t h = 0; h < size; ++h) {
          all.values.push_back(t < shape.past ? before.At(b, n, t, h)
                                              : now.At(b, n, t - shape.past, h));
        }
      }
    }
  }
  return all;
}

// The number that attn_mask adds to the score of a query and a key.
struct Mask {
  std::vector<double> values = {};
  // Strides over batch, heads, queries and keys.
  Shape strides = {};
  bool is_bool = false;

  double At(int64_t b, int64_t n, int64_t s, int64_t t) const {
    if (values.empty()) return 0;
    const double value = values[b * strides[0] + n * strides[1] + s * strides[2] + t * strides[3]];
    return is_bool ? (value != 0 ? 0 : kMasked) : value;
  }
};

// One row of scores, and of probabilities, as numbered by qk_matmul_output_mode.
struct Stages {
  std::vector<double> of[4];
};

struct ReferenceInputs {
  AttentionShape shape;
  DataType type = DataType::kFloat;
  HeadValues q = {};
  // Past and current keys and values.
  HeadValues k = {};
  HeadValues v = {};
  Mask mask = {};
  // nonpad_kv_seqlen, or empty.
  std::vector<int64_t> valid = {};
};

absl::StatusOr<ReferenceInputs> ReadInputs(const OpContext& context, const AttentionShape& shape) {
  ReferenceInputs in{.shape = shape, .type = context.input(0).type()};
  ATTNRUN_ASSIGN_OR_RETURN(in.q, Read(context.input(0), shape.query_heads, shape.head_size));
  ATTNRUN_ASSIGN_OR_RETURN(in.k, Present(context, 1, 4, shape, shape.head_size));
  ATTNRUN_ASSIGN_OR_RETURN(in.v, Present(context, 2, 5, shape, shape.value_size));
  if (context.has_input(3)) {
    in.mask = {.strides = shape.mask_strides,
               .is_bool = context.input(3).type() == DataType::kBool};
    ATTNRUN_ASSIGN_OR_RETURN(in.mask.values, ToDoubles(context.input(3)));
  }
  if (context.has_input(6)) {
    ATTNRUN_ASSIGN_OR_RETURN(in.valid, ToInts(context.input(6)));
  }
  return in;
}

Stages ScoreRow(const Attention& op, const ReferenceInputs& in, int64_t b, int64_t n, int64_t s) {
  const int64_t kv_head = n / (in.shape.query_heads / in.shape.kv_heads);
  std::optional<int64_t> valid;
  if (!in.valid.empty()) valid = in.valid[b];
  const Attention::Range unmasked = op.UnmaskedKeys(in.shape, valid, s);
  const double cap = op.softcap();
  Stages stages;
  bool all_masked = true;
  for (int64_t t = 0; t < in.shape.keys; ++t) {
    double score = 0;
    for (int64_t h = 0; h < in.shape.head_size; ++h) {
      score += in.q.At(b, n, s, h) * in.k.At(b, kv_head, t, h);
    }
    score *= in.shape.scale;
    const double capped = cap > 0 ? cap * std::tanh(score / cap) : score;
    const double bias = t >= unmasked.begin && t < unmasked.end ? in.mask.At(b, n, s, t) : kMasked;
    all_masked = all_masked && bias == kMasked;
    stages.of[0].push_back(score);
    stages.of[1].push_back(capped);
    stages.of[2].push_back(AsHeld(in.type, AsHeld(in.type, capped) + bias));
  }
  stages.of[3] =
      all_masked ? std::vector<double>(in.shape.keys, 0) : Probabilities(stages.of[2], 0);
  return stages;
}

absl::Status Set(OpContext& context, int i, DataType type, const Shape& shape,
                 absl::Span<const double> values) {
  if (!context.wants_output(i)) return absl::OkStatus();
  ATTNRUN_ASSIGN_OR_RETURN(Tensor tensor, FromDoubles(type, shape, values, context.allocator()));
  context.SetOutput(i, std::move(tensor));
  return absl::OkStatus();
}

absl::Span<const double> Elements(const Tensor& tensor) {
  return {tensor.data<double>(), static_cast<size_t>(tensor.num_elements())};
}

}  // namespace

absl::Status Attention::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(const AttentionShape shape, Resolve(context));
  ATTNRUN_ASSIGN_OR_RETURN(const ReferenceInputs in, ReadInputs(context, shape));
  Allocator& allocator = context.allocator();
  ATTNRUN_ASSIGN_OR_RETURN(Tensor y,
                           Tensor::Allocate(DataType::kDouble, shape.OutputShape(), allocator));
  const Shape scores_shape = context.wants_output(3) ? shape.ScoresShape() : Shape{0};
  ATTNRUN_ASSIGN_OR_RETURN(Tensor scores,
                           Tensor::Allocate(DataType::kDouble, scores_shape, allocator));
  const int64_t group = shape.query_heads / shape.kv_heads;
  for (int64_t row = 0; row < shape.batch * shape.query_heads * shape.queries; ++row) {
    const int64_t s = row % shape.queries;
    const int64_t n = row / shape.queries % shape.query_heads;
    const int64_t b = row / shape.queries / shape.query_heads;
    const Stages stages = ScoreRow(*this, in, b, n, s);
    if (scores.num_elements() > 0) {
      std::copy(stages.of[scores_mode_].begin(), stages.of[scores_mode_].end(),
                scores.mutable_data<double>() + row * shape.keys);
    }
    const int64_t out = shape.merged ? (b * shape.queries + s) * shape.query_heads + n : row;
    for (int64_t h = 0; h < shape.value_size; ++h) {
      double sum = 0;
      for (int64_t t = 0; t < shape.keys; ++t) {
        // A key of probability 0 adds nothing even if its value is not finite.
        if (stages.of[3][t] != 0) sum += stages.of[3][t] * in.v.At(b, n / group, t, h);
      }
      y.mutable_data<double>()[out * shape.value_size + h] = sum;
    }
  }
  const DataType type = context.input(0).type();
  ATTNRUN_RETURN_IF_ERROR(Set(context, 0, type, shape.OutputShape(), Elements(y)));
  ATTNRUN_RETURN_IF_ERROR(Set(context, 1, type, shape.PresentShape(shape.head_size), in.k.values));
  ATTNRUN_RETURN_IF_ERROR(
      Set(context, 2, context.input(2).type(), shape.PresentShape(shape.value_size), in.v.values));
  return Set(context, 3, type, shape.ScoresShape(), Elements(scores));
}

}  // namespace attnrun::ops
