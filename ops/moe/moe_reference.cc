// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "core/elements.h"
#include "core/interrupt.h"
#include "core/status.h"
#include "ops/interface/optional_input.h"
#include "ops/moe/experts_op.h"
#include "ops/quantization/nbit/codes.h"

namespace attnrun::ops {
namespace {

// The zero points of an expert's rows and blocks; empty if there are none.
std::vector<double> ZeroPoints(const ExpertLayer& layer, int64_t blocks) {
  if (!layer.zero_points.defined()) return {};
  const auto* bytes = layer.zero_points.data<uint8_t>();
  std::vector<double> points;
  for (int64_t i = 0; i < layer.n * blocks; ++i) {
    // Without blocks the points of all rows are packed together.
    const bool together = layer.block_size == 0;
    const int64_t row_bytes = together ? 0 : layer.zero_points.dim(1);
    points.push_back(CodeAt(bytes + i / blocks * row_bytes, together ? i : i % blocks, layer.bits));
  }
  return points;
}

// The weight [N, K] of an expert.
absl::StatusOr<std::vector<double>> Weight(const ExpertLayer& layer) {
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor weight, layer.weight.Dense());
  if (layer.bits == 0) return ToDoubles(weight);
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor dense_scales, layer.scales.Dense());
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> scales, ToDoubles(dense_scales));
  const int64_t block = layer.block_size == 0 ? layer.k : layer.block_size;
  const int64_t blocks = layer.k / block;
  const std::vector<double> points = ZeroPoints(layer, blocks);
  const double middle = 1 << (layer.bits - 1);
  std::vector<double> numbers;
  for (int64_t i = 0; i < layer.n * layer.k; ++i) {
    const int64_t at = i / layer.k * blocks + i % layer.k / block;
    const int code = CodeAt(weight.data<uint8_t>(), i, layer.bits);
    numbers.push_back((code - (points.empty() ? middle : points[at])) * scales[at]);
  }
  return numbers;
}

// One expert.
struct Expert {
  std::vector<double> weight[3];
  std::vector<double> bias[3];

  // A layer's n outputs for k inputs.
  std::vector<double> Apply(int layer, const double* x, int64_t n, int64_t k) const {
    std::vector<double> y = bias[layer];
    y.resize(n);
    for (int64_t i = 0; i < n * k; ++i) y[i / k] += weight[layer][i] * x[i % k];
    return y;
  }
};

absl::StatusOr<Expert> ReadExpert(const ExpertLayers& layers) {
  Expert result;
  for (int i = 0; i < 3; ++i) {
    if (!layers[i].weight.defined()) continue;
    const ExpertLayer& one = layers[i];
    ATTNRUN_ASSIGN_OR_RETURN(result.weight[i], Weight(one));
    if (!one.bias.defined()) continue;
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor bias, one.bias.Dense());
    ATTNRUN_ASSIGN_OR_RETURN(result.bias[i], ToDoubles(bias));
  }
  return result;
}

double Activate(ExpertActivation activation, double x) {
  switch (activation) {
    case ExpertActivation::kRelu:
      return std::max(x, 0.0);
    case ExpertActivation::kGelu:
      return x / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case ExpertActivation::kSilu:
      return x / (1 + std::exp(-x));
    default:
      return x;
  }
}

double Swiglu(const MoeAttributes& attributes, double gate, double linear) {
  if (attributes.limit.has_value()) {
    const double limit = *attributes.limit;
    gate = std::min(gate, limit);
    linear = std::min(std::max(linear, -limit), limit);
  }
  return gate / (1 + std::exp(-attributes.alpha * gate)) * (linear + attributes.beta);
}

// The inputs of layer 2, from the outputs of layer 1 and, perhaps none, of layer 3.
std::vector<double> Inner(const MoeAttributes& attributes, const std::vector<double>& first,
                          const std::vector<double>& third, int64_t inner) {
  std::vector<double> result;
  for (int64_t i = 0; i < inner; ++i) {
    if (attributes.activation != ExpertActivation::kSwiglu) {
      const double factor = third.empty() ? 1 : third[i];
      result.push_back(Activate(attributes.activation, first[i]) * factor);
    } else if (attributes.fusion == 0) {
      result.push_back(Swiglu(attributes, first[i], third[i]));
    } else {
      const bool in_turns = attributes.fusion == 1;
      result.push_back(
          Swiglu(attributes, first[in_turns ? 2 * i : i], first[in_turns ? 2 * i + 1 : inner + i]));
    }
  }
  return result;
}

}  // namespace

absl::Status ExpertsOp::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(
      const std::vector<ExpertLayers> experts,
      ReadExperts([&](int i) { return InputOrUndefined(context, i); }, context.num_inputs()));
  ATTNRUN_ASSIGN_OR_RETURN(const MoeShape shape, Resolve(context, SizesOf(experts)));
  ATTNRUN_ASSIGN_OR_RETURN(const auto routes, ReadRoutes(context, shape));
  const Tensor& input = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> x, ToDoubles(input));
  std::vector<double> y(x.size());
  for (int64_t number = 0; number < shape.experts && !Interrupted(); ++number) {
    const ExpertLayers& layers = experts[number];
    std::optional<Expert> expert;
    for (int64_t token = 0; token < shape.tokens; ++token) {
      for (const Route& route : routes[token]) {
        if (route.expert != number) continue;
        if (!expert.has_value()) {
          ATTNRUN_ASSIGN_OR_RETURN(expert, ReadExpert(layers));
        }
        const double* row = x.data() + token * shape.hidden;
        std::vector<double> third;
        if (layers[2].weight.defined()) third = expert->Apply(2, row, layers[2].n, layers[2].k);
        const std::vector<double> inner =
            Inner(attributes_, expert->Apply(0, row, layers[0].n, layers[0].k), third, shape.inner);
        const std::vector<double> out = expert->Apply(1, inner.data(), layers[1].n, layers[1].k);
        for (int64_t i = 0; i < shape.hidden; ++i) {
          y[token * shape.hidden + i] += route.weight * out[i];
        }
      }
    }
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor result,
                           FromDoubles(input.type(), input.shape(), y, context.allocator()));
  context.SetOutput(0, std::move(result));
  return absl::OkStatus();
}

}  // namespace attnrun::ops
