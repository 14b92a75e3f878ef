// SPDX-License-Identifier: Apache-2.0
#include "ops/generate/constant.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "ops/shape/view_kernel.h"
#include "ops/tensors/element_copy.h"
#include "ops/tensors/int_input.h"
#include "ops/tensors/strided_copy.h"

namespace attnrun::ops {
namespace {

template <typename T>
absl::StatusOr<Tensor> Scalar(AttributeReader& attributes, absl::string_view name) {
  const T value = attributes.Required<T>(name);
  return Tensor::Of<T>({}, {value});
}

template <typename T>
absl::StatusOr<Tensor> List(AttributeReader& attributes, absl::string_view name) {
  const auto values = attributes.Required<std::vector<T>>(name);
  return Tensor::Of<T>({static_cast<int64_t>(values.size())}, values);
}

absl::StatusOr<Tensor> ReadValue(AttributeReader& attributes) {
  const int version = attributes.version();
  if (version >= 12) {
    if (attributes.Has("value_int")) return Scalar<int64_t>(attributes, "value_int");
    if (attributes.Has("value_ints")) return List<int64_t>(attributes, "value_ints");
    if (attributes.Has("value_float")) return Scalar<float>(attributes, "value_float");
    if (attributes.Has("value_floats")) return List<float>(attributes, "value_floats");
    if (attributes.Has("value_string")) return Scalar<std::string>(attributes, "value_string");
    if (attributes.Has("value_strings")) return List<std::string>(attributes, "value_strings");
  }
  if (version >= 11 && attributes.Has("sparse_value")) {
    return attributes.Required<Tensor>("sparse_value");
  }
  return attributes.Required<Tensor>("value");
}

// Fills by bytes, which suits every type but strings.
class ConstantOfShapeKernel final : public Kernel {
 public:
  explicit ConstantOfShapeKernel(Tensor value) : value_(std::move(value)) {}

  absl::string_view name() const override { return "fill"; }
  bool Accepts(const OpContext& /*context*/) const override { return true; }
  absl::Status Run(OpContext& context) const override {
    ATTNRUN_ASSIGN_OR_RETURN(const Shape shape, ReadInts(context.input(0), "shape"));
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, value_.type(), shape));
    FillElements(BitWidth(value_.type()) / 8, y->mutable_raw(), y->num_elements(), value_.raw());
    return absl::OkStatus();
  }

 private:
  const Tensor value_;
};

}  // namespace

Constant::Constant(AttributeReader& attributes) : value_(ReadValue(attributes)) {}

absl::Status Constant::Reference(OpContext& context) const {
  ATTNRUN_RETURN_IF_ERROR(value_.status());
  context.SetOutput(0, *value_);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Constant::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<ViewKernel<Constant>>(*this, /*strided=*/false);
}

ConstantOfShape::ConstantOfShape(AttributeReader& attributes)
    : value_(attributes.Has("value") ? attributes.Required<Tensor>("value")
                                     : Tensor::Of<float>({1}, {0.0F})) {
  if (value_.ok() && value_->num_elements() != 1) {
    value_ = absl::InvalidArgumentError(
        absl::StrCat("value must have one element, but is ", TypeAndShape(*value_)));
  }
}

absl::Status ConstantOfShape::Reference(OpContext& context) const {
  ATTNRUN_RETURN_IF_ERROR(value_.status());
  ATTNRUN_ASSIGN_OR_RETURN(const Shape shape, ReadInts(context.input(0), "shape"));
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, AllocateZeros(context, 0, value_->type(), shape));
  for (int64_t i = 0; i < y->num_elements(); ++i) CopyElement(*value_, 0, *y, i);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> ConstantOfShape::MakeKernel(
    const KernelContext& /*context*/) const {
  ATTNRUN_RETURN_IF_ERROR(value_.status());
  if (!MovesAsBytes(value_->type())) return nullptr;
  return std::make_unique<ConstantOfShapeKernel>(*value_);
}

}  // namespace attnrun::ops
