// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <utility>
#include <vector>

#include "core/elements.h"
#include "core/interrupt.h"
#include "core/status.h"
#include "ops/interface/optional_input.h"
#include "ops/linear_attention/linear_attention.h"

namespace attnrun::ops {
namespace {

// One call, in which `state` is [B, H, dk, dv].
struct Recurrence {
  LinearAttentionShape shape;
  bool gated;
  bool delta;
  std::vector<double> query;
  std::vector<double> key;
  std::vector<double> value;
  std::vector<double> decay;
  std::vector<double> beta;
  std::vector<double> state;
  std::vector<double> output;

  double DecayOf(int64_t row, int64_t head, int64_t d) const {
    if (!shape.decay_per_key) return decay[row * shape.heads + head];
    return decay[(row * shape.heads + head) * shape.key_size + d];
  }

  // Adds token `row` of all tokens to its sample's state of one head.
  void Update(int64_t row, int64_t head) {
    const int64_t size = shape.key_size;
    const int64_t sample = row / shape.tokens;
    double* s = state.data() + (sample * shape.heads + head) * size * shape.value_size;
    const double* k = key.data() + (row * shape.key_heads + head / shape.key_sharers) * size;
    for (int64_t d = 0; gated && d < size; ++d) {
      const double factor = std::exp(DecayOf(row, head, d));
      for (int64_t m = 0; m < shape.value_size; ++m) s[d * shape.value_size + m] *= factor;
    }
    for (int64_t m = 0; m < shape.value_size; ++m) {
      double v = value[(row * shape.heads + head) * shape.value_size + m];
      if (delta) {
        for (int64_t d = 0; d < size; ++d) v -= s[d * shape.value_size + m] * k[d];
        v *= shape.beta_per_head ? beta[row * shape.heads + head] : beta[row];
      }
      for (int64_t d = 0; d < size; ++d) s[d * shape.value_size + m] += k[d] * v;
    }
  }

  // Reads the state of one head by all query heads that do.
  void Read(int64_t row, int64_t head) {
    const int64_t size = shape.key_size;
    const int64_t sample = row / shape.tokens;
    const double* s = state.data() + (sample * shape.heads + head) * size * shape.value_size;
    for (int64_t reader = 0; reader < shape.readers; ++reader) {
      const int64_t to = head * shape.readers + reader;
      const double* q = query.data() + (row * shape.query_heads + to / shape.sharers) * size;
      double* y = output.data() + (row * shape.heads * shape.readers + to) * shape.value_size;
      for (int64_t m = 0; m < shape.value_size; ++m) {
        for (int64_t d = 0; d < size; ++d) y[m] += q[d] * s[d * shape.value_size + m];
        y[m] *= shape.scale;
      }
    }
  }
};

}  // namespace

absl::Status LinearAttention::Reference(OpContext& context) const {
  Recurrence r;
  ATTNRUN_ASSIGN_OR_RETURN(r.shape, ResolveLinearAttention(attributes_, context));
  r.gated = attributes_.gated;
  r.delta = attributes_.delta;
  ATTNRUN_ASSIGN_OR_RETURN(r.query, ToDoubles(context.input(0)));
  ATTNRUN_ASSIGN_OR_RETURN(r.key, ToDoubles(context.input(1)));
  ATTNRUN_ASSIGN_OR_RETURN(r.value, ToDoubles(context.input(2)));
  ATTNRUN_ASSIGN_OR_RETURN(r.decay, OptionalDoubles(context, 4));
  ATTNRUN_ASSIGN_OR_RETURN(r.beta, OptionalDoubles(context, 5));
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t states, NumElements(r.shape.state));
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t outputs, NumElements(r.shape.output));
  // The memory limit applies to the outputs before anything else is as large.
  const DataType state_type = context.input(context.has_input(3) ? 3 : 0).type();
  ATTNRUN_ASSIGN_OR_RETURN(Tensor present,
                           Tensor::Allocate(state_type, r.shape.state, context.allocator()));
  const int64_t slots = std::max<int64_t>(1, attributes_.window);
  const int64_t slot = states / slots;
  std::vector<double> kept(states);
  r.state.assign(slot, 0);
  if (context.has_input(3)) {
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> past, ToDoubles(context.input(3)));
    r.state.assign(past.end() - slot, past.end());
  }
  r.output.resize(outputs);
  // With no tokens at all the last state is the past one.
  std::copy(r.state.begin(), r.state.end(), kept.end() - slot);
  for (int64_t t = 0; t < r.shape.tokens && !Interrupted(); ++t) {
    for (int64_t sample = 0; sample < r.shape.batch; ++sample) {
      for (int64_t head = 0; head < r.shape.heads; ++head) {
        r.Update(sample * r.shape.tokens + t, head);
        r.Read(sample * r.shape.tokens + t, head);
      }
    }
    const int64_t at = t - r.shape.tokens + slots;
    if (at >= 0) std::copy(r.state.begin(), r.state.end(), kept.begin() + at * slot);
  }
  ATTNRUN_ASSIGN_OR_RETURN(present,
                           FromDoubles(state_type, r.shape.state, kept, context.allocator()));
  ATTNRUN_ASSIGN_OR_RETURN(Tensor y, FromDoubles(context.input(0).type(), r.shape.output, r.output,
                                                 context.allocator()));
  context.SetOutput(0, std::move(y));
  context.SetOutput(1, std::move(present));
  return absl::OkStatus();
}

}  // namespace attnrun::ops
