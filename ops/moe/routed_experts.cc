// SPDX-License-Identifier: Apache-2.0
#include "ops/moe/routed_experts.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "absl/strings/str_cat.h"
#include "core/div_ceil.h"
#include "core/elements.h"
#include "core/status.h"
#include "ops/tensors/strided_copy.h"

namespace attnrun::ops {
namespace {

// A matrix with its axes exchanged.
Tensor Transposed(const Tensor& matrix) {
  if (!matrix.defined() || matrix.rank() != 2) return matrix;
  const Shape strides = StridesOf(matrix);
  return matrix.View({matrix.dim(1), matrix.dim(0)}, {strides[1], strides[0]}, 0);
}

absl::Status Differ(int64_t expert) {
  return absl::InvalidArgumentError(
      absl::StrCat("expected layers of one size, but those of expert ", expert,
                   " have other sizes, or a layer or a bias more or less, than those of expert 0"));
}

}  // namespace

RoutedExperts::RoutedExperts(AttributeReader& attributes)
    : ExpertsOp(attributes), transposed_(attributes.Ints("trans_w")) {
  transposed_.resize(3);
}

absl::StatusOr<std::vector<ExpertLayers>> RoutedExperts::ReadExperts(Inputs input,
                                                                     int count) const {
  const int64_t experts = DivCeil(std::max(count - kFirstLayer, 0), kInputsPerExpert);
  if (experts == 0) return absl::InvalidArgumentError("expected experts, but found none");
  std::vector<ExpertLayers> result;
  for (int64_t number = 0; number < experts; ++number) {
    const int first = kFirstLayer + kInputsPerExpert * static_cast<int>(number);
    ExpertLayers layers(3);
    for (int i = 0; i < 3; ++i) {
      const Tensor weight = input(first + 2 * i);
      layers[i].weight = transposed_[i] != 0 ? weight : Transposed(weight);
      layers[i].bias = input(first + 2 * i + 1);
    }
    ATTNRUN_RETURN_IF_ERROR(CheckLayers(attributes_, std::nullopt, layers));
    result.push_back(std::move(layers));
    for (int i = 0; i < 3; ++i) {
      const ExpertLayer& own = result.back()[i];
      const ExpertLayer& other = result[0][i];
      if (own.n != other.n || own.k != other.k || own.bias.defined() != other.bias.defined()) {
        return Differ(number);
      }
    }
  }
  return result;
}

absl::StatusOr<MoeShape> RoutedExperts::Resolve(const OpContext& context, MoeShape sizes) const {
  const Tensor& x = context.input(0);
  if (x.rank() == 0 || !IsFloatingPoint(x.type()) || x.shape().back() != sizes.hidden) {
    return UnfitTensor("x of floats [..., H] for layers", {sizes.inner, sizes.hidden}, x);
  }
  sizes.tokens = x.num_elements() / sizes.hidden;
  const Tensor& experts = context.input(kExperts);
  const Tensor& weights = context.input(kWeights);
  Shape routes = x.shape();
  routes.back() = experts.rank() > 0 ? experts.shape().back() : 0;
  if (experts.type() != DataType::kInt64 || experts.shape() != routes) {
    return UnfitTensor("numbers of experts int64", routes, experts);
  }
  if (!IsFloatingPoint(weights.type()) || weights.shape() != routes) {
    return UnfitTensor("weights of experts, floats", routes, weights);
  }
  sizes.k = routes.back();
  return sizes;
}

absl::StatusOr<std::vector<std::vector<Route>>> RoutedExperts::ReadRoutes(
    const OpContext& context, const MoeShape& shape) const {
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor experts, context.input(kExperts).Dense());
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor dense, context.input(kWeights).Dense());
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> weights, ToDoubles(dense));
  const auto* numbers = experts.data<int64_t>();
  std::vector<std::vector<Route>> routes(shape.tokens);
  for (int64_t i = 0; i < shape.tokens * shape.k; ++i) {
    if (numbers[i] < 0 || numbers[i] >= shape.experts) {
      return absl::InvalidArgumentError(absl::StrCat(
          "expected experts from 0 to ", shape.experts - 1, ", but found ", numbers[i]));
    }
    routes[i / shape.k].push_back({numbers[i], weights[i]});
  }
  return routes;
}

void RoutedExperts::Axes(AxesContext& context) const {
  const auto& x = context.input(0).dims;
  for (size_t axis = 0; x.has_value() && axis + 1 < x->size(); ++axis) {
    context.Add({{0, axis}, {kExperts, axis}, {kWeights, axis}}, {{0, axis}});
  }
}

}  // namespace attnrun::ops
