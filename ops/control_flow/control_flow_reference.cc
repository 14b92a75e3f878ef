// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "ops/control_flow/control_flow.h"
#include "ops/control_flow/slices.h"

namespace attnrun::ops {
namespace {

absl::StatusOr<bool> ReadCondition(const Tensor& tensor) {
  if (tensor.type() != DataType::kBool || tensor.num_elements() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the condition must be one bool, but found ", TypeAndShape(tensor)));
  }
  return *tensor.data<bool>();
}

absl::Status CheckResultCount(size_t found, size_t expected) {
  if (found == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the subgraph gives ", found, " outputs, but the node needs ", expected));
}

absl::StatusOr<int64_t> ReadTripCount(const OpContext& context) {
  if (!context.has_input(0)) return std::numeric_limits<int64_t>::max();
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> count, ToInts(context.input(0)));
  if (count.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("M must be one int64, but found ", TypeAndShape(context.input(0))));
  }
  return count[0];
}

}  // namespace

absl::Status If::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(const bool condition, ReadCondition(context.input(0)));
  std::vector<Tensor> results;
  ATTNRUN_RETURN_IF_ERROR(
      context.subgraphs()->Run(condition ? "then_branch" : "else_branch", {}, results));
  ATTNRUN_RETURN_IF_ERROR(CheckResultCount(results.size(), context.num_outputs()));
  for (size_t i = 0; i < results.size(); ++i) {
    context.SetOutput(static_cast<int>(i), std::move(results[i]));
  }
  return absl::OkStatus();
}

absl::Status Loop::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t limit, ReadTripCount(context));
  ATTNRUN_ASSIGN_OR_RETURN(Tensor condition, FromInts(DataType::kBool, {}, {1}));
  if (context.has_input(1)) condition = context.input(1);
  std::vector<Tensor> carried;
  for (int i = 2; i < context.num_inputs(); ++i) carried.push_back(context.input(i));
  const size_t num_carried = carried.size();
  if (static_cast<size_t>(context.num_outputs()) < num_carried) {
    return CheckResultCount(num_carried, context.num_outputs());
  }
  std::vector<Slices> scanned(context.num_outputs() - num_carried, Slices(context.allocator()));
  for (int64_t iteration = 0; iteration < limit; ++iteration) {
    ATTNRUN_ASSIGN_OR_RETURN(const bool go_on, ReadCondition(condition));
    if (!go_on) break;
    ATTNRUN_ASSIGN_OR_RETURN(Tensor number, FromInts(DataType::kInt64, {}, {iteration}));
    std::vector<Tensor> inputs = {std::move(number), condition};
    for (Tensor& value : carried) inputs.push_back(std::move(value));
    std::vector<Tensor> results;
    ATTNRUN_RETURN_IF_ERROR(context.subgraphs()->Run("body", inputs, results));
    ATTNRUN_RETURN_IF_ERROR(CheckResultCount(results.size(), 1 + context.num_outputs()));
    condition = std::move(results[0]);
    for (size_t i = 0; i < num_carried; ++i) carried[i] = std::move(results[1 + i]);
    for (size_t i = 0; i < scanned.size(); ++i) {
      ATTNRUN_RETURN_IF_ERROR(scanned[i].Add(std::move(results[1 + num_carried + i])));
    }
  }
  for (size_t i = 0; i < num_carried; ++i) {
    context.SetOutput(static_cast<int>(i), std::move(carried[i]));
  }
  for (size_t i = 0; i < scanned.size(); ++i) {
    ATTNRUN_ASSIGN_OR_RETURN(Tensor stacked, Stack(scanned[i].tensors(), 0, context.allocator()));
    context.SetOutput(static_cast<int>(num_carried + i), std::move(stacked));
  }
  return absl::OkStatus();
}

}  // namespace attnrun::ops
