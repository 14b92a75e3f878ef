// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/elements.h"
#include "core/status.h"
#include "ops/interface/optional_input.h"
#include "ops/linear_attention/causal_conv.h"

namespace attnrun::ops {
namespace {

// The index of a channel's position in [B, C, `length`], or in [B, `length`, C].
int64_t IndexOf(const CausalConvShape& shape, bool channels_last, int64_t length, int64_t row,
                int64_t position) {
  const int64_t sample = row / shape.channels;
  const int64_t channel = row % shape.channels;
  return channels_last ? (sample * length + position) * shape.channels + channel
                       : row * length + position;
}

struct Call {
  CausalConvShape shape;
  CausalConvAttributes attributes;
  std::vector<double> x;
  std::vector<double> weight;
  std::vector<double> bias;
  // The slot of the last state; empty: zeros.
  std::vector<double> past;

  // Position `at` of the past followed by x. `row` counts the channels of all samples.
  double Read(int64_t row, int64_t at) const {
    const bool last = attributes.channels_last;
    if (at >= shape.reach) return x[IndexOf(shape, last, shape.length, row, at - shape.reach)];
    return past.empty() ? 0 : past[IndexOf(shape, last, shape.reach, row, at)];
  }

  double Compute(int64_t row, int64_t position) const {
    const int64_t channel = row % shape.channels;
    double sum = bias.empty() ? 0 : bias[channel];
    for (int64_t tap = 0; tap < shape.taps; ++tap) {
      sum += weight[channel * shape.taps + tap] * Read(row, position + tap * attributes.dilation);
    }
    return attributes.silu ? sum / (1 + std::exp(-sum)) : sum;
  }
};

}  // namespace

absl::Status CausalConv::Reference(OpContext& context) const {
  Call call;
  call.attributes = attributes_;
  ATTNRUN_ASSIGN_OR_RETURN(call.shape, ResolveCausalConv(attributes_, context));
  const CausalConvShape& shape = call.shape;
  const Tensor& input = context.input(0);
  // The memory limit applies to the outputs before anything else is as large.
  ATTNRUN_ASSIGN_OR_RETURN(Tensor present,
                           Tensor::Allocate(input.type(), shape.state, context.allocator()));
  ATTNRUN_ASSIGN_OR_RETURN(call.x, ToDoubles(input));
  ATTNRUN_ASSIGN_OR_RETURN(call.weight, ToDoubles(context.input(1)));
  ATTNRUN_ASSIGN_OR_RETURN(call.bias, OptionalDoubles(context, 2));
  ATTNRUN_ASSIGN_OR_RETURN(call.past, OptionalDoubles(context, 3));
  const int64_t slots = std::max<int64_t>(1, attributes_.window);
  const int64_t slot_size = present.num_elements() / slots;
  if (!call.past.empty()) call.past.erase(call.past.begin(), call.past.end() - slot_size);
  std::vector<double> results(input.num_elements());
  std::vector<double> states(present.num_elements());
  const bool last = attributes_.channels_last;
  for (int64_t row = 0; row < shape.batch * shape.channels; ++row) {
    for (int64_t i = 0; i < shape.length; ++i) {
      results[IndexOf(shape, last, shape.length, row, i)] = call.Compute(row, i);
    }
    for (int64_t slot = 0; slot < slots; ++slot) {
      // The positions of x that the state follows.
      const int64_t seen = shape.length - slots + slot + 1;
      if (seen < (slot == slots - 1 ? 0 : 1)) continue;
      for (int64_t i = 0; i < shape.reach; ++i) {
        states[slot * slot_size + IndexOf(shape, last, shape.reach, row, i)] =
            call.Read(row, seen + i);
      }
    }
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor y,
                           FromDoubles(input.type(), input.shape(), results, context.allocator()));
  ATTNRUN_ASSIGN_OR_RETURN(present,
                           FromDoubles(input.type(), shape.state, states, context.allocator()));
  context.SetOutput(0, std::move(y));
  context.SetOutput(1, std::move(present));
  return absl::OkStatus();
}

}  // namespace attnrun::ops
