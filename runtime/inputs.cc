// SPDX-License-Identifier: Apache-2.0
#include "inputs.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/quote.h"
#include "core/status.h"
#include "graph/declared_extent.h"
#include "graph/type.h"

namespace attnrun {
namespace {

ValueInfo Describe(const Value& value) {
  return {value.name(), value.type().element, value.type().shape, value.constant() != nullptr,
          value.type().kind};
}

// The extent that a symbol was first bound to, and the input that bound it. The key is the text
// that SymInt gives the symbol.
struct Binding {
  int64_t extent;
  std::string input;
};
using Bindings = std::map<std::string, Binding>;

absl::Status Mismatch(const ValueInfo& declared, const Tensor& tensor, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("input ", Quoted(declared.name), " expects ",
                                                 TypeAndShape(declared), ", but found ",
                                                 TypeAndShape(tensor), why));
}

absl::Status CheckTensor(const ValueInfo& declared, const Tensor& tensor, Bindings& bindings) {
  if (declared.type != DataType::kUndefined && tensor.type() != declared.type) {
    return Mismatch(declared, tensor, "");
  }
  if (!declared.shape.has_value()) return absl::OkStatus();
  if (static_cast<size_t>(tensor.rank()) != declared.shape->size()) {
    return Mismatch(declared, tensor,
                    absl::StrCat(": rank ", tensor.rank(), " instead of ", declared.shape->size()));
  }
  for (int axis = 0; axis < tensor.rank(); ++axis) {
    const Dim& dim = (*declared.shape)[axis];
    if (dim.is_fixed() && tensor.dim(axis) != dim.value) return Mismatch(declared, tensor, "");
    if (dim.is_fixed()) continue;
    const auto [it, first] =
        bindings.try_emplace(DeclaredExtent(declared.name, dim, axis).ToString(),
                             Binding{tensor.dim(axis), declared.name});
    if (first || it->second.extent == tensor.dim(axis)) continue;
    return Mismatch(declared, tensor,
                    absl::StrCat(": ", Quoted(dim.symbol), " is ", it->second.extent, " in input ",
                                 Quoted(it->second.input), " but ", tensor.dim(axis), " here"));
  }
  return absl::OkStatus();
}

// The tensors of a sequence may differ in extents of one name.
absl::Status CheckSequence(const ValueInfo& declared, const Tensor& sequence) {
  if (declared.type != DataType::kUndefined && sequence.element_type() != declared.type) {
    return Mismatch(declared, sequence, "");
  }
  for (const Tensor& tensor : sequence.tensors()) {
    Bindings own;
    ATTNRUN_RETURN_IF_ERROR(CheckTensor(declared, tensor, own));
  }
  return absl::OkStatus();
}

absl::Status CheckValue(const ValueInfo& declared, const Tensor& value, Bindings& bindings) {
  if (value.is_sequence() != HoldsSequence(declared.kind)) return Mismatch(declared, value, "");
  if (value.is_sequence()) return CheckSequence(declared, value);
  if (declared.kind == ValueKind::kTensor) return CheckTensor(declared, value, bindings);
  // Nothing is said of the extents of other inputs where an optional is left out.
  Bindings own;
  return CheckTensor(declared, value, own);
}

absl::Status CheckEqualities(const Equalities& equalities, const Bindings& bindings) {
  for (const auto& [a, b, node] : equalities.list()) {
    std::map<std::string, std::string> read;
    const auto extent = [&](const std::string& symbol) -> std::optional<int64_t> {
      const auto bound = bindings.find(symbol);
      if (bound == bindings.end()) return std::nullopt;
      const auto& [extent, input] = bound->second;
      read[symbol] = absl::StrCat(symbol, " is ", extent, " in input ", Quoted(input));
      return extent;
    };
    const auto left = a.ValueAt(extent);
    const auto right = b.ValueAt(extent);
    if (!left.has_value() || !right.has_value() || *left == *right) continue;
    const auto append = [](std::string* out, const auto& entry) { out->append(entry.second); };
    return absl::InvalidArgumentError(absl::StrCat(
        "the extents of the inputs do not fit together: ", node, " needs ", a.ToString(), " = ",
        b.ToString(), ", but ", absl::StrJoin(read, " and ", append)));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<ValueInfo> DescribeInputs(const Graph& graph) {
  std::vector<ValueInfo> inputs;
  for (const Value* value : graph.inputs()) inputs.push_back(Describe(*value));
  return inputs;
}

std::vector<ValueInfo> DescribeOutputs(const Graph& graph) {
  std::vector<ValueInfo> outputs;
  for (const Value* value : graph.outputs()) {
    outputs.push_back(Describe(*value));
    outputs.back().has_default = false;
  }
  return outputs;
}

absl::Status CheckNames(absl::string_view kind, const std::vector<ValueInfo>& declared,
                        const TensorMap& given) {
  const auto append = [](std::string* out, const ValueInfo& info) {
    absl::StrAppend(out, Quoted(info.name));
  };
  for (const auto& [name, tensor] : given) {
    const auto named = [&name = name](const ValueInfo& info) { return info.name == name; };
    if (std::any_of(declared.begin(), declared.end(), named)) continue;
    return absl::InvalidArgumentError(absl::StrCat("there is no ", kind, " ", Quoted(name),
                                                   "; the model's ", kind, "s are ",
                                                   absl::StrJoin(declared, ", ", append)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Tensor>> BindInputs(const std::vector<ValueInfo>& declared,
                                               const Equalities& equalities, const TensorMap& given,
                                               const TensorMap& carried) {
  ATTNRUN_RETURN_IF_ERROR(CheckNames("input", declared, given));
  std::vector<Tensor> ordered;
  Bindings bindings;
  for (const ValueInfo& info : declared) {
    if (const auto it = carried.find(info.name); it != carried.end()) {
      ATTNRUN_RETURN_IF_ERROR(CheckValue(info, it->second, bindings));
      ordered.push_back(it->second);
      continue;
    }
    const auto it = given.find(info.name);
    if (it == given.end() || !it->second.defined()) {
      if (!info.has_default && !IsOptional(info.kind)) {
        return absl::InvalidArgumentError(
            absl::StrCat("input ", Quoted(info.name), " (", TypeAndShape(info), ") is missing"));
      }
      ordered.emplace_back();
      continue;
    }
    ATTNRUN_RETURN_IF_ERROR(CheckValue(info, it->second, bindings));
    ATTNRUN_ASSIGN_OR_RETURN(ordered.emplace_back(), it->second.Dense());
  }
  ATTNRUN_RETURN_IF_ERROR(CheckEqualities(equalities, bindings));
  return ordered;
}

}  // namespace attnrun
