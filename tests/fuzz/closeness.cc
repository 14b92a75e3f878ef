// SPDX-License-Identifier: Apache-2.0
#include "fuzz/closeness.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

// The first draw and its negation move numbers that are close to a step to both sides of it. A
// second seed follows because one draw may happen to move an element very little; it also exposes
// divisions by numbers that are almost 0.
constexpr Noise kDraws[] = {{.epsilons = 4, .seed = 1},
                            {.epsilons = -4, .seed = 1},
                            {.epsilons = 4, .seed = 2, .takes_to_zero = true}};
// A fused operator rounds at most as often as the nodes it replaces; kernels sum in another order.
constexpr double kRoom = 32;
// Covers the rounding of the reference's own sums in double where whole numbers cancel out, times
// some hundreds after a normalization, which divides by the root of its epsilon.
constexpr double kOwnRounding = 1e-12;

// True if a Reshape reads a computed extent of 0, which makes it copy an extent of its input. No
// exporter means that, and the optimizer takes computed extents literally.
bool CopiesForComputedZero(const Graph& graph, const TensorMap& values) {
  for (const Node* node : graph.nodes()) {
    if (node->op_type() != "Reshape" || node->attribute("allowzero") != nullptr) continue;
    const Value* shape = node->input(1);
    const Node* producer = shape->producer();
    if (shape->is_constant() || (producer != nullptr && producer->op_type() == "Constant"))
      continue;
    const std::vector<int64_t> wanted = ToInts(values.at(shape->name())).value();
    const Tensor& data = values.at(node->input(0)->name());
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i] == 0 && data.dim(static_cast<int>(i)) != 0) return true;
    }
  }
  return false;
}

bool SameKind(double a, double b) {
  if (std::isfinite(a) || std::isfinite(b)) return std::isfinite(a) == std::isfinite(b);
  return std::isnan(a) ? std::isnan(b) : a == b;
}

// True if noise keeps all shapes and keeps every element finite, infinite or NaN.
bool SameKind(const TensorMap& exact, const TensorMap& noisy) {
  return std::ranges::all_of(exact, [&](const auto& entry) {
    const auto& [name, tensor] = entry;
    if (TypeAndShape(tensor) != TypeAndShape(noisy.at(name))) return false;
    if (!IsFloatingPoint(tensor.type())) return true;
    return std::ranges::equal(ToDoubles(tensor).value(), ToDoubles(noisy.at(name)).value(),
                              [](double a, double b) { return SameKind(a, b); });
  });
}

// The distance by which noise moves each element.
std::vector<double> Movements(const std::vector<double>& exact, const std::vector<Tensor>& noisy) {
  std::vector<double> moved(exact.size(), 0);
  for (const Tensor& tensor : noisy) {
    const std::vector<double> other = ToDoubles(tensor).value();
    for (size_t i = 0; i < exact.size(); ++i) {
      if (std::isfinite(exact[i])) moved[i] = std::max(moved[i], std::fabs(other[i] - exact[i]));
    }
  }
  return moved;
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

Expectation::Expectation(const Graph& graph, const TensorMap& inputs) {
  absl::StatusOr<TensorMap> exact = Evaluate(graph, inputs, Noise());
  if (!exact.ok()) return;
  exact_ = *std::move(exact);
  if (CopiesForComputedZero(graph, exact_)) return;
  for (const Noise& noise : kDraws) {
    absl::StatusOr<TensorMap> noisy = Evaluate(graph, inputs, noise);
    if (!noisy.ok() || !SameKind(exact_, *noisy)) return;
    noisy_.push_back(*std::move(noisy));
  }
  known_ = true;
}

std::string Expectation::Difference(const std::string& name, const Tensor& actual,
                                    bool kernels) const {
  const Tensor& expected = exact_.at(name);
  std::vector<Tensor> noisy;
  for (const TensorMap& values : noisy_) noisy.push_back(values.at(name));
  if (TypeAndShape(actual) != TypeAndShape(expected)) {
    return absl::StrCat(TypeAndShape(actual), " instead of ", TypeAndShape(expected));
  }
  const auto doubles = ToDoubles(expected);
  if (!doubles.ok()) return "";
  const std::vector<double> found = ToDoubles(actual).value();
  const std::vector<double> moved = Movements(*doubles, noisy);
  const double typical = Median(moved);
  // A rewrite may compute in float what the graph casts to double and back.
  const double epsilon =
      IsFloatingPoint(expected.type()) ? std::max(Epsilon(expected.type()), kEpsilon) : 0;
  for (size_t i = 0; i < found.size(); ++i) {
    const double wanted = (*doubles)[i];
    const bool unstable = epsilon == 0 && moved[i] > 0;
    if (unstable || found[i] == wanted ||
        (std::isnan(wanted) && (kernels || std::isnan(found[i])))) {
      continue;
    }
    // An expected 0 may be the difference of numbers around 1, which noise does not move.
    const double size = wanted == 0 ? 1 : std::fabs(wanted);
    const double allowed = kRoom * (std::max(moved[i], typical) + epsilon * size + kOwnRounding);
    if (std::fabs(found[i] - wanted) <= allowed) continue;
    return absl::StrCat("element ", i, " of ", TypeAndShape(expected), " is ", found[i],
                        " instead of ", wanted, ", and ", allowed, " is allowed");
  }
  return "";
}

}  // namespace attnrun::testing
