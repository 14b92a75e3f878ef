// SPDX-License-Identifier: Apache-2.0
#include "ops/control_flow/kinds.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "graph/graph.h"

namespace attnrun::ops {
namespace {

// The inputs of a Loop, and of its body, before the carried values; the body's outputs before them.
constexpr size_t kLoopOperands = 2;
constexpr size_t kBodyResults = 1;

absl::Status CheckTensors(absl::Span<const ValueKind> results, size_t first) {
  for (size_t i = first; i < results.size(); ++i) {
    if (results[i] == ValueKind::kTensor) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("output ", i, " of the body must be a tensor, but is a ", Name(results[i])));
  }
  return absl::OkStatus();
}

// The inputs of a Loop's body are of the node's kinds, or optionals of them where the body declares
// these. Nested Loops are looked at only a few times because earlier looks are noted there.
std::vector<ValueKind> InitialKinds(const KindContext& context) {
  std::vector<ValueKind> kinds(kLoopOperands, ValueKind::kTensor);
  if (context.inputs.size() < kLoopOperands) return kinds;
  kinds.insert(kinds.end(), context.inputs.begin() + kLoopOperands, context.inputs.end());
  const AttributeValue* attribute = context.node.attribute("body");
  const auto* body =
      attribute == nullptr ? nullptr : std::get_if<std::shared_ptr<Graph>>(attribute);
  if (body == nullptr) return kinds;
  const size_t count = std::min(kinds.size(), (*body)->inputs().size());
  for (size_t i = kLoopOperands; i < count; ++i) {
    const ValueKind declared = (*body)->inputs()[i]->type().kind;
    const absl::StatusOr<ValueKind> common = CommonKind(kinds[i], declared);
    if (IsOptional(declared) && common.ok()) kinds[i] = *common;
  }
  return kinds;
}

}  // namespace

absl::Status KindsOfIf(KindContext& context) {
  ATTNRUN_RETURN_IF_ERROR(CheckKind(context, 0, ValueKind::kTensor));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<ValueKind> a, context.body("then_branch", {}));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<ValueKind> b, context.body("else_branch", {}));
  const size_t count = std::min({context.outputs.size(), a.size(), b.size()});
  for (size_t i = 0; i < count; ++i) {
    const absl::StatusOr<ValueKind> common = CommonKind(a[i], b[i]);
    if (!common.ok()) {
      return Annotate(common.status(), absl::StrCat("output ", i, " of the two branches"));
    }
    context.outputs[i] = *common;
  }
  return absl::OkStatus();
}

absl::Status KindsOfLoop(KindContext& context) {
  const size_t operands = std::min(kLoopOperands, context.inputs.size());
  for (size_t i = 0; i < operands; ++i) {
    ATTNRUN_RETURN_IF_ERROR(CheckKind(context, i, ValueKind::kTensor));
  }
  std::vector<ValueKind> inputs = InitialKinds(context);
  const size_t carried = inputs.size() - kLoopOperands;
  // Ends, because kinds only become optional.
  for (bool lasts = false; !lasts;) {
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<ValueKind> results, context.body("body", inputs));
    ATTNRUN_RETURN_IF_ERROR(CheckTensors(results, kBodyResults + carried));
    lasts = true;
    for (size_t i = 0; i < carried && kBodyResults + i < results.size(); ++i) {
      ValueKind& kind = inputs[kLoopOperands + i];
      const absl::StatusOr<ValueKind> common = CommonKind(kind, results[kBodyResults + i]);
      if (!common.ok()) return Annotate(common.status(), absl::StrCat("carried value ", i));
      lasts = lasts && *common == kind;
      kind = *common;
    }
  }
  const size_t count = std::min(carried, context.outputs.size());
  std::copy_n(inputs.begin() + kLoopOperands, count, context.outputs.begin());
  return absl::OkStatus();
}

absl::Status KindsOfSequenceMap(KindContext& context) {
  ATTNRUN_RETURN_IF_ERROR(CheckKind(context, 0, ValueKind::kSequence));
  for (size_t i = 1; i < context.inputs.size(); ++i) {
    if (IsOptional(context.inputs[i])) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input ", i, " must be a tensor or a sequence, but is an ", Name(context.inputs[i])));
    }
  }
  const std::vector<ValueKind> tensors(context.inputs.size(), ValueKind::kTensor);
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<ValueKind> results, context.body("body", tensors));
  ATTNRUN_RETURN_IF_ERROR(CheckTensors(results, 0));
  std::fill(context.outputs.begin(), context.outputs.end(), ValueKind::kSequence);
  return absl::OkStatus();
}

}  // namespace attnrun::ops
