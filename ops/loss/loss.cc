// SPDX-License-Identifier: Apache-2.0
#include "ops/loss/loss.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "ops/interface/families.h"
#include "ops/interface/infer_rules.h"
#include "ops/tensors/indices.h"

namespace attnrun::ops {
namespace {

LossReduction ReadReduction(AttributeReader& attributes) {
  const std::string name = attributes.OneOf("reduction", "mean", {"mean", "sum", "none"});
  if (name == "none") return LossReduction::kNone;
  return name == "sum" ? LossReduction::kSum : LossReduction::kMean;
}

absl::Status CheckInputs(const OpContext& context) {
  const Tensor& y = context.input(0);
  const Tensor& target = context.input(1);
  Shape expected = y.shape();
  if (y.rank() >= 2) expected.erase(expected.begin() + 1);
  if (y.rank() < 2 || !IsFloatingPoint(y.type()) || target.shape() != expected) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected floats [N,C,..] and a target [N,..], but found ", TypeAndShape(y),
                     " and ", TypeAndShape(target)));
  }
  ATTNRUN_RETURN_IF_ERROR(CheckIndexType(target));
  if (!context.has_input(2)) return absl::OkStatus();
  const Tensor& weight = context.input(2);
  if (IsFloatingPoint(weight.type()) && weight.shape() == Shape{y.dim(1)}) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("expected a weight of floats [", y.dim(1),
                                                 "], but found ", TypeAndShape(weight)));
}

// Replaces scores [outer, classes, inner] by the logarithms of their softmax.
void LogSoftmax(std::vector<double>& values, int64_t classes, int64_t inner) {
  const auto count = static_cast<int64_t>(values.size());
  for (int64_t i = 0; classes > 0 && i < count / classes; ++i) {
    double* row = values.data() + i / inner * classes * inner + i % inner;
    double greatest = row[0];
    for (int64_t c = 1; c < classes; ++c) greatest = std::max(greatest, row[c * inner]);
    double sum = 0;
    for (int64_t c = 0; c < classes; ++c) sum += std::exp(row[c * inner] - greatest);
    for (int64_t c = 0; c < classes; ++c) row[c * inner] -= greatest + std::log(sum);
  }
}

}  // namespace

Loss::Loss(AttributeReader& attributes, bool softmax)
    : softmax_(softmax),
      ignored_(attributes.Get<int64_t>("ignore_index")),
      reduction_(ReadReduction(attributes)) {}

absl::Status Loss::Reference(OpContext& context) const {
  ATTNRUN_RETURN_IF_ERROR(CheckInputs(context));
  const Tensor& y = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<double> values, ToDoubles(y));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> targets, ToInts(context.input(1)));
  const int64_t classes = y.dim(1);
  std::vector<double> weights(classes, 1);
  if (context.has_input(2)) {
    ATTNRUN_ASSIGN_OR_RETURN(weights, ToDoubles(context.input(2)));
  }
  const absl::Span<const int64_t> extents = y.shape();
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t inner, NumElements(extents.subspan(2)));
  if (softmax_) LogSoftmax(values, classes, inner);
  std::vector<double> losses;
  double applied = 0;
  for (size_t i = 0; i < targets.size(); ++i) {
    const int64_t target = targets[i];
    const bool ignored = target == ignored_;
    if (!ignored && (target < 0 || target >= classes)) return IndexOutside(target, 1, y);
    const auto at = static_cast<int64_t>(i);
    losses.push_back(ignored ? 0
                             : -values[(at / inner * classes + target) * inner + at % inner] *
                                   weights[target]);
    applied += ignored ? 0 : weights[target];
  }
  Shape shape = context.input(1).shape();
  if (reduction_ != LossReduction::kNone) {
    const double sum = std::accumulate(losses.begin(), losses.end(), 0.0);
    losses = {reduction_ == LossReduction::kSum ? sum : sum / applied};
    shape.clear();
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor loss, FromDoubles(y.type(), shape, losses, context.allocator()));
  context.SetOutput(0, std::move(loss));
  if (!context.wants_output(1)) return absl::OkStatus();
  ATTNRUN_ASSIGN_OR_RETURN(Tensor logs,
                           FromDoubles(y.type(), y.shape(), values, context.allocator()));
  context.SetOutput(1, std::move(logs));
  return absl::OkStatus();
}

void Loss::Infer(InferContext& context) const {
  SetDims(context, 0,
          reduction_ == LossReduction::kNone ? context.input(1).dims : std::optional<Dims>(Dims()));
  SetDims(context, 1, context.input(0).dims);
}

// The samples, unless they are added up.
void Loss::Axes(AxesContext& context) const {
  if (reduction_ == LossReduction::kNone) context.Add({{0, 0}, {1, 0}}, {{0, 0}, {1, 0}});
}

void RegisterLoss(OpRegistry& registry) {
  registry.Register({"",
                     "NegativeLogLikelihoodLoss",
                     {12, 13, 22},
                     {2, 3},
                     {1, 1},
                     [](AttributeReader& attributes) {
                       return std::make_unique<Loss>(attributes, /*softmax=*/false);
                     }});
  registry.Register(
      {"", "SoftmaxCrossEntropyLoss", {12, 13}, {2, 3}, {1, 2}, [](AttributeReader& attributes) {
         return std::make_unique<Loss>(attributes, /*softmax=*/true);
       }});
}

}  // namespace attnrun::ops
