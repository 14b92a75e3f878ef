// SPDX-License-Identifier: Apache-2.0
#include "ops/quantization/nbit/matmul_nbits.h"

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "ops/interface/axis_rules.h"
#include "ops/interface/optional_input.h"
#include "ops/tensors/float_rows.h"

namespace attnrun::ops {
namespace {

bool IsFloats(const Tensor& tensor, const Shape& shape) {
  return IsFloatOrHalf(tensor.type()) && tensor.shape() == shape;
}

}  // namespace

MatMulNBits::MatMulNBits(AttributeReader& attributes)
    : k_(attributes.Required<int64_t>("K")),
      n_(attributes.Required<int64_t>("N")),
      bits_(attributes.Int("bits", 4)),
      block_size_(attributes.Required<int64_t>("block_size")),
      prepacked_(attributes.Int("weight_prepacked", 0)) {
  attributes.Ignore("accuracy_level");
}

NBitWeight MatMulNBits::Weight(Inputs input) const {
  return {k_, n_, bits_, block_size_, input(kCodes), input(kScales), input(kZeroPoints)};
}

absl::Status MatMulNBits::CheckGroups(const Tensor& groups) const {
  if (!groups.defined()) return absl::OkStatus();
  if (groups.type() != DataType::kInt32 || groups.shape() != Shape{k_}) {
    return ExpectedShape("g_idx to be int32", {k_}, groups);
  }
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> block, ToInts(groups));
  for (int64_t k = 0; k < k_; ++k) {
    if (block[k] == k / block_size_) continue;
    return absl::UnimplementedError(
        absl::StrCat("a g_idx that permutes the rows of B is not covered: expected row ", k,
                     " in block ", k / block_size_, ", but it is in block ", block[k]));
  }
  return absl::OkStatus();
}

absl::Status MatMulNBits::CheckWeight(Inputs input) const {
  ATTNRUN_RETURN_IF_ERROR(Weight(input).Check());
  if (prepacked_ != 0) {
    return absl::UnimplementedError(absl::StrCat("weight_prepacked ", prepacked_,
                                                 ", a weight layout for GPUs, is not covered"));
  }
  return CheckGroups(input(kGroups));
}

absl::StatusOr<Shape> MatMulNBits::Resolve(const OpContext& context) const {
  ATTNRUN_RETURN_IF_ERROR(CheckWeight([&](int i) { return InputOrUndefined(context, i); }));
  return ResolveOutput(context);
}

absl::StatusOr<Shape> MatMulNBits::ResolveOutput(const OpContext& context) const {
  const Tensor& a = context.input(kA);
  if (!IsFloatOrHalf(a.type()) || a.rank() == 0 || a.shape().back() != k_) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected A to be floats [..., ", k_, "], but it is ", TypeAndShape(a)));
  }
  if (context.has_input(kBias) && !IsFloats(context.input(kBias), {n_})) {
    return ExpectedShape("bias to be floats ", {n_}, context.input(kBias));
  }
  Shape shape = a.shape();
  shape.back() = n_;
  return shape;
}

void MatMulNBits::Infer(InferContext& context) const {
  ValueFacts y;
  y.type = context.input(kA).type;
  y.dims = context.input(kA).dims;
  if (y.dims.has_value() && !y.dims->empty()) y.dims->back() = SymInt(n_);
  context.SetOutput(0, std::move(y));
}

void MatMulNBits::Axes(AxesContext& context) const { AddLeadingAxes(context); }

}  // namespace attnrun::ops
