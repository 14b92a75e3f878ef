// SPDX-License-Identifier: Apache-2.0
#include "fuzz/evaluate.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "core/elements.h"
#include "core/status.h"
#include "ops/composite/run_node.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

// Larger numbers, such as those of additive masks, absorb the noise of the numbers they are added
// to; they get no noise of their own.
constexpr double kLargest = 1e6;

// The median magnitude of the nonzero numbers.
double TypicalSize(const std::vector<double>& elements) {
  std::vector<double> sizes;
  for (const double x : elements) {
    if (x != 0 && std::fabs(x) < kLargest) sizes.push_back(std::fabs(x));
  }
  if (sizes.empty()) return 0;
  const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
  std::ranges::nth_element(sizes, middle);
  return *middle;
}

class Blur {
 public:
  explicit Blur(const Noise& noise) : noise_(noise), generator_(noise.seed) {}

  // If an element's magnitude plus the typical one is below `least`, its noise is relative to
  // `least`.
  Tensor operator()(const Tensor& tensor, double least = 0) {
    if (noise_.epsilons == 0 || !IsFloatingPoint(tensor.type())) return tensor;
    std::vector<double> elements = ToDoubles(tensor).value();
    const auto exact = [](double x) { return x == std::floor(x) || !std::isfinite(x); };
    if (std::ranges::all_of(elements, exact)) return tensor;
    const double epsilons = noise_.epsilons * Epsilon(tensor.type());
    const double typical = TypicalSize(elements);
    for (double& x : elements) {
      if (x != 0 && std::fabs(x) < kLargest)
        x = Moved(x, std::max(std::fabs(x) + typical, least) * epsilons);
    }
    return FromDoubles(tensor.type(), tensor.shape(), elements).value();
  }

 private:
  double Moved(double x, double most) {
    if (noise_.takes_to_zero && std::fabs(x) <= most) return 0;
    return x + most * uniform_(generator_);
  }

  Noise noise_;
  std::mt19937 generator_;
  std::uniform_real_distribution<double> uniform_{-1, 1};
};

absl::Status EvaluateNode(const Node& node, Blur& blur, TensorMap& values) {
  std::vector<Tensor> inputs;
  for (const Value* input : node.inputs()) {
    inputs.push_back(input == nullptr ? Tensor() : values.at(input->name()));
  }
  const auto results = ops::RunReference(node, inputs, Allocator::Heap());
  if (!results.ok()) return Annotate(results.status(), node.description());
  const double least = node.op_type() == "Gelu" ? 1 : 0;
  for (size_t i = 0; i < results->size(); ++i) {
    if (node.output(i) == nullptr) continue;
    values[node.output(i)->name()] = blur((*results)[i], least);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TensorMap> Evaluate(const Graph& graph, const TensorMap& inputs,
                                   const Noise& noise) {
  Blur blur(noise);
  TensorMap values;
  for (const Value* value : graph.values()) {
    if (value->is_constant()) values[value->name()] = *value->constant();
  }
  for (const Value* input : graph.inputs()) {
    values[input->name()] = blur(inputs.at(input->name()));
  }
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<Node*> order, graph.TopologicalOrder());
  for (const Node* node : order) {
    ATTNRUN_RETURN_IF_ERROR(EvaluateNode(*node, blur, values));
  }
  return values;
}

}  // namespace attnrun::testing
