// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise/identity.h"

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "ops/elementwise/infer.h"
#include "ops/interface/axis_rules.h"
#include "ops/interface/reference_kernel.h"
#include "ops/interface/type_set.h"

namespace attnrun::ops {
namespace {

bool IsTrue(const Tensor& tensor) {
  return tensor.type() == DataType::kBool && tensor.num_elements() == 1 &&
         *tensor.data<uint8_t>() != 0;
}

// The output shares the input's bytes.
std::unique_ptr<Kernel> MakeAliasKernel(const Op& op) {
  return std::make_unique<ReferenceKernel>(op, "alias");
}

absl::Status KindOfInput(KindContext& context) {
  context.outputs[0] = context.inputs[0];
  return absl::OkStatus();
}

absl::Status CheckInference(const OpContext& context) {
  if (!context.has_input(2) || !IsTrue(context.input(2))) return absl::OkStatus();
  std::vector<double> ratio;
  if (context.has_input(1)) {
    ATTNRUN_ASSIGN_OR_RETURN(ratio, ToDoubles(context.input(1)));
  }
  if (ratio.size() == 1 && ratio[0] == 0) return absl::OkStatus();
  return absl::UnimplementedError("training_mode is true, but only inference is covered");
}

}  // namespace

absl::Status Identity::Reference(OpContext& context) const {
  context.SetOutput(0, context.input(0));
  return absl::OkStatus();
}

void Identity::Infer(InferContext& context) const { context.SetOutput(0, context.input(0)); }

absl::StatusOr<std::unique_ptr<Kernel>> Identity::MakeKernel(
    const KernelContext& /*context*/) const {
  return MakeAliasKernel(*this);
}

Dropout::Dropout(AttributeReader& attributes) : mask_is_bool_(attributes.version() >= 10) {
  if (attributes.version() >= 12) {
    attributes.Ignore("seed");
  } else {
    attributes.ExpectInputs(1, 1);
    attributes.Ignore("ratio");
  }
}

absl::Status Dropout::Reference(OpContext& context) const {
  ATTNRUN_RETURN_IF_ERROR(CheckType(context, 0, kFloats | kFloat8s));
  ATTNRUN_RETURN_IF_ERROR(CheckInference(context));
  const Tensor& x = context.input(0);
  context.SetOutput(0, x);
  if (!context.wants_output(1)) return absl::OkStatus();
  const DataType type = mask_is_bool_ ? DataType::kBool : x.type();
  ATTNRUN_ASSIGN_OR_RETURN(
      Tensor mask,
      FromInts(type, x.shape(), std::vector<int64_t>(x.num_elements(), 1), context.allocator()));
  context.SetOutput(1, std::move(mask));
  return absl::OkStatus();
}

void Dropout::Infer(InferContext& context) const {
  const ValueFacts& x = context.input(0);
  InferSameShape(context, x.type);
  context.SetOutput(1, {mask_is_bool_ ? DataType::kBool : x.type, x.dims, std::nullopt});
}

void Dropout::Axes(AxesContext& context) const {
  AddSameAxes(context, [](size_t) { return true; });
}

absl::StatusOr<std::unique_ptr<Kernel>> Dropout::MakeKernel(
    const KernelContext& /*context*/) const {
  return MakeAliasKernel(*this);
}

BitCast::BitCast(AttributeReader& attributes)
    : to_(attributes.ElementType("to", DataType::kUndefined)) {
  attributes.Required<int64_t>("to");
}

absl::Status BitCast::Reference(OpContext& context) const {
  const Tensor& x = context.input(0);
  if (x.type() == DataType::kString || to_ == DataType::kString ||
      BitWidth(x.type()) != BitWidth(to_)) {
    return absl::InvalidArgumentError(
        absl::StrCat(TypeAndShape(x), " and ", Name(to_), " are not of the same width"));
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor y, Tensor::Borrow(to_, x.shape(), x.raw(), x.byte_size(),
                                                    std::make_shared<Tensor>(x)));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

void BitCast::Infer(InferContext& context) const { InferSameShape(context, to_); }

void RegisterIdentity(OpRegistry& registry) {
  registry.Register({.domain = "",
                     .name = "BitCast",
                     .since = {26},
                     .inputs = {1, 1},
                     .outputs = {1, 1},
                     .make = Make<BitCast>,
                     .traits = kElementwise});
  registry.Register({.domain = "",
                     .name = "Dropout",
                     .since = {7, 10, 12, 13, 22},
                     .inputs = {1, 3},
                     .outputs = {1, 2},
                     .make = Make<Dropout>});
  registry.Register(
      {.domain = "",
       .name = "Identity",
       .since = {1, 13, 14, 16, 19, 21, 23, 24, 25},
       .inputs = {1, 1},
       .outputs = {1, 1},
       .make = [](AttributeReader& /*unused*/) { return std::make_unique<Identity>(); },
       .traits = kElementwise | kKeepsOrder | SameSince(13) | Kinds(KindOfInput)});
}

}  // namespace attnrun::ops
