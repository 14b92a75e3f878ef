// SPDX-License-Identifier: Apache-2.0
#include "ops/interface/registry.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/quote.h"
#include "core/status.h"
#include "ops/interface/axis_rules.h"
#include "ops/interface/refused.h"

namespace attnrun::ops {
namespace {

absl::Status CheckCount(absl::string_view what, size_t count, Arity arity) {
  const int found = static_cast<int>(count);
  if (found >= arity.min && found <= arity.max) return absl::OkStatus();
  const std::string expected = arity.max == kVariadic ? absl::StrCat("at least ", arity.min)
                               : arity.min == arity.max
                                   ? absl::StrCat(arity.min)
                                   : absl::StrCat(arity.min, " to ", arity.max);
  return absl::InvalidArgumentError(
      absl::StrCat("expected ", expected, " ", what, ", but found ", found));
}

absl::Status CheckArity(const OpDef& def, const Node& node) {
  ATTNRUN_RETURN_IF_ERROR(CheckCount("inputs", node.inputs().size(), def.inputs));
  ATTNRUN_RETURN_IF_ERROR(CheckCount("outputs", node.outputs().size(), def.outputs));
  const int required = def.inputs.is_list ? static_cast<int>(node.inputs().size()) : def.inputs.min;
  for (int i = 0; i < required; ++i) {
    if (node.input(i) == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("required input ", i, " is left out"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

void OpRegistry::Register(OpDef def) {
  std::pair<std::string, std::string> name(def.domain, def.name);
  const auto [place, inserted] = defs_.insert_or_assign(std::move(name), std::move(def));
  by_name_.insert_or_assign(place->first, &place->second);
}

const OpDef* OpRegistry::Find(absl::string_view domain, absl::string_view name) const {
  const auto found = by_name_.find({domain, name});
  return found == by_name_.end() ? nullptr : found->second;
}

absl::StatusOr<int> OpRegistry::Version(const Node& node) const {
  const OpDef* def = Find(node.domain(), node.op_type());
  if (def == nullptr) {
    const std::string name = absl::StrCat("operator ", Shortened(node.qualified_op_type()),
                                          " (opset ", node.opset(), ")");
    const absl::string_view reason = WhyRefused(node.domain(), node.op_type());
    return absl::UnimplementedError(reason.empty() ? absl::StrCat(name, " is unknown")
                                                   : absl::StrCat(name, " is not run: ", reason));
  }
  if (node.domain().empty() && (node.opset() < kOldestOpset || node.opset() > kNewestOpset)) {
    return absl::UnimplementedError(absl::StrCat("opset ", node.opset(), " is not covered (",
                                                 kOldestOpset, " to ", kNewestOpset, " are)"));
  }
  const auto after = std::upper_bound(def->since.begin(), def->since.end(), node.opset());
  if (after == def->since.begin()) {
    return absl::UnimplementedError(absl::StrCat("operator ", Shortened(node.qualified_op_type()),
                                                 " exists from opset ", def->since.front(),
                                                 " on, but the model imports ", node.opset()));
  }
  return *(after - 1);
}

absl::StatusOr<std::unique_ptr<Op>> OpRegistry::Create(const Node& node) const {
  ATTNRUN_ASSIGN_OR_RETURN(const int version, Version(node));
  const OpDef& def = *Find(node.domain(), node.op_type());
  ATTNRUN_RETURN_IF_ERROR(CheckArity(def, node));
  AttributeReader attributes(node, version);
  std::unique_ptr<Op> op = def.make(attributes);
  ATTNRUN_RETURN_IF_ERROR(attributes.Finish());
  return op;
}

void OpRegistry::AddAxes(const Node& node, AxesContext& context) const {
  const OpDef* def = Find(node.domain(), node.op_type());
  if (def == nullptr) return;
  if (def->traits.elementwise) return AddElementwiseAxes(context);
  const absl::StatusOr<std::unique_ptr<Op>> op = Create(node);
  if (op.ok()) (*op)->Axes(context);
}

std::vector<const OpDef*> OpRegistry::All() const {
  std::vector<const OpDef*> all;
  for (const auto& [key, def] : defs_) all.push_back(&def);
  return all;
}

}  // namespace attnrun::ops
