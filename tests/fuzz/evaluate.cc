#include "fuzz/evaluate.h"

#include <algorithm>
#include <cmath>

#include "core/elements.h"
#include "core/status.h"
#include "ops/run_reference.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

// Numbers as large as those that close a mask absorb what they are added to.
constexpr double kLargest = 1e6;

// The middle one of the sizes of the numbers that are not 0.
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

Tensor Blurred(const Tensor& tensor, double noise, std::mt19937& generator) {
  if (noise == 0 || !IsFloatingPoint(tensor.type())) return tensor;
  std::vector<double> elements = ToDoubles(tensor).value();
  const auto exact = [](double x) { return x == std::floor(x) || !std::isfinite(x); };
  if (std::ranges::all_of(elements, exact)) return tensor;
  std::uniform_real_distribution<double> uniform(-1, 1);
  const double size = noise * Epsilon(tensor.type());
  const double typical = TypicalSize(elements);
  for (double& x : elements) {
    if (x != 0 && std::fabs(x) < kLargest)
      x += (std::fabs(x) + typical) * size * uniform(generator);
  }
  return FromDoubles(tensor.type(), tensor.shape(), elements).value();
}

absl::Status EvaluateNode(const Node& node, double noise, std::mt19937& generator,
                          TensorMap& values) {
  std::vector<Tensor> inputs;
  for (const Value* input : node.inputs()) {
    inputs.push_back(input == nullptr ? Tensor() : values.at(input->name()));
  }
  const auto results = RunReference(node, inputs, Allocator::Heap());
  if (!results.ok()) return Annotate(results.status(), node.description());
  for (size_t i = 0; i < results->size(); ++i) {
    if (node.output(i) == nullptr) continue;
    values[node.output(i)->name()] = Blurred((*results)[i], noise, generator);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TensorMap> Evaluate(const Graph& graph, const TensorMap& inputs, double noise,
                                   std::mt19937& generator) {
  TensorMap values;
  for (const Value* value : graph.values()) {
    if (value->is_constant()) values[value->name()] = *value->constant();
  }
  for (const Value* input : graph.inputs()) {
    values[input->name()] = Blurred(inputs.at(input->name()), noise, generator);
  }
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<Node*> order, graph.TopologicalOrder());
  for (const Node* node : order) {
    ATTNRUN_RETURN_IF_ERROR(EvaluateNode(*node, noise, generator, values));
  }
  return values;
}

}  // namespace attnrun::testing
