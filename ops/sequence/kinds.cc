// SPDX-License-Identifier: Apache-2.0
#include "ops/sequence/kinds.h"

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "graph/graph.h"

namespace attnrun::ops {
namespace {

absl::Status CheckTensors(const KindContext& context, size_t first) {
  for (size_t i = first; i < context.inputs.size(); ++i) {
    ATTNRUN_RETURN_IF_ERROR(CheckKind(context, i, ValueKind::kTensor));
  }
  return absl::OkStatus();
}

ValueKind ElementOf(ValueKind kind) {
  return HoldsSequence(kind) ? ValueKind::kSequence : ValueKind::kTensor;
}

}  // namespace

absl::Status TensorsToSequence(KindContext& context) {
  context.outputs[0] = ValueKind::kSequence;
  return CheckTensors(context, 0);
}

absl::Status SequenceToTensor(KindContext& context) {
  ATTNRUN_RETURN_IF_ERROR(CheckKind(context, 0, ValueKind::kSequence));
  return CheckTensors(context, 1);
}

absl::Status SequenceToSequence(KindContext& context) {
  context.outputs[0] = ValueKind::kSequence;
  return SequenceToTensor(context);
}

absl::Status OptionalOfInput(KindContext& context) {
  ValueKind element = ValueKind::kTensor;
  if (context.node.input(0) != nullptr) {
    element = context.inputs[0];
  } else {
    const AttributeValue* attribute = context.node.attribute("type");
    const auto* type = attribute == nullptr ? nullptr : std::get_if<Type>(attribute);
    if (type == nullptr || !type->other.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected an input, or a tensor or sequence as attribute 'type', but found ",
                       type == nullptr ? "neither" : type->other));
    }
    element = type->kind;
  }
  if (IsOptional(element)) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected a tensor or a sequence as element, but found an ", Name(element)));
  }
  context.outputs[0] =
      HoldsSequence(element) ? ValueKind::kOptionalSequence : ValueKind::kOptionalTensor;
  return absl::OkStatus();
}

absl::Status ElementOfOptional(KindContext& context) {
  context.outputs[0] = ElementOf(context.inputs[0]);
  return absl::OkStatus();
}

absl::Status AnyToTensor(KindContext& /*context*/) { return absl::OkStatus(); }

}  // namespace attnrun::ops
