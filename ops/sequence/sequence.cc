// SPDX-License-Identifier: Apache-2.0
#include "ops/sequence/sequence.h"

#include "ops/interface/families.h"
#include "ops/interface/reference_kernel.h"
#include "ops/sequence/concat_from_sequence.h"
#include "ops/sequence/kinds.h"
#include "ops/sequence/split_to_sequence.h"

namespace attnrun::ops {
namespace {

void SetType(InferContext& context, DataType type) {
  context.SetOutput(0, {type, std::nullopt, std::nullopt});
}

DataType TypeOf(const InferContext& context, int i) {
  return context.has_input(i) ? context.input(i).type : DataType::kUndefined;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> PassingOp::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<ReferenceKernel>(*this, "alias");
}

void SequenceConstruct::Infer(InferContext& context) const { SetType(context, TypeOf(context, 0)); }
void SequenceEmpty::Infer(InferContext& context) const { SetType(context, type_); }
void SequenceErase::Infer(InferContext& context) const { SetType(context, TypeOf(context, 0)); }
void SequenceAt::Infer(InferContext& context) const { SetType(context, TypeOf(context, 0)); }
void Optional::Infer(InferContext& context) const { SetType(context, TypeOf(context, 0)); }

void SequenceInsert::Infer(InferContext& context) const {
  const DataType type = TypeOf(context, 0);
  SetType(context, type == DataType::kUndefined ? TypeOf(context, 1) : type);
}

void SequenceLength::Infer(InferContext& context) const {
  context.SetOutput(0, {DataType::kInt64, std::vector<SymInt>{}, std::nullopt});
}

void OptionalGetElement::Infer(InferContext& context) const {
  SetType(context, TypeOf(context, 0));
}

void OptionalHasElement::Infer(InferContext& context) const {
  context.SetOutput(0, {DataType::kBool, std::vector<SymInt>{}, std::nullopt});
}

void RegisterSequence(OpRegistry& registry) {
  registry.Register({"",
                     "ConcatFromSequence",
                     {11},
                     {1, 1},
                     {1, 1},
                     Make<ConcatFromSequence>,
                     Kinds(SequenceToTensor)});
  registry.Register(
      {"", "Optional", {15, 28}, {0, 1}, {1, 1}, Make<Optional>, Kinds(OptionalOfInput)});
  registry.Register({"",
                     "OptionalGetElement",
                     {15, 18, 28},
                     {1, 1},
                     {1, 1},
                     Make<OptionalGetElement>,
                     Kinds(ElementOfOptional)});
  registry.Register({"",
                     "OptionalHasElement",
                     {15, 18, 28},
                     {0, 1},
                     {1, 1},
                     Make<OptionalHasElement>,
                     Kinds(AnyToTensor)});
  registry.Register(
      {"", "SequenceAt", {11}, {2, 2}, {1, 1}, Make<SequenceAt>, Kinds(SequenceToTensor)});
  registry.Register({"",
                     "SequenceConstruct",
                     {11},
                     ListOf(1),
                     {1, 1},
                     Make<SequenceConstruct>,
                     Kinds(TensorsToSequence)});
  registry.Register(
      {"", "SequenceEmpty", {11}, {0, 0}, {1, 1}, Make<SequenceEmpty>, Kinds(TensorsToSequence)});
  registry.Register(
      {"", "SequenceErase", {11}, {1, 2}, {1, 1}, Make<SequenceErase>, Kinds(SequenceToSequence)});
  registry.Register({"",
                     "SequenceInsert",
                     {11},
                     {2, 3},
                     {1, 1},
                     Make<SequenceInsert>,
                     Kinds(SequenceToSequence)});
  registry.Register(
      {"", "SequenceLength", {11}, {1, 1}, {1, 1}, Make<SequenceLength>, Kinds(SequenceToTensor)});
  registry.Register({"",
                     "SplitToSequence",
                     {11, 24},
                     {1, 2},
                     {1, 1},
                     Make<SplitToSequence>,
                     Kinds(TensorsToSequence)});
}

}  // namespace attnrun::ops
