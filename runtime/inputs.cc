// SPDX-License-Identifier: Apache-2.0
#include "inputs.h"

#include <algorithm>
#include <map>

#include "absl/container/inlined_vector.h"
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

absl::Status Mismatch(const ValueInfo& declared, const Tensor& tensor, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("input ", Quoted(declared.name), " expects ",
                                                 TypeAndShape(declared), ", but found ",
                                                 TypeAndShape(tensor), why));
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

// By symbol: the extent that it was first bound to, and the input that bound it.
struct InputRules::Bindings {
  struct Binding {
    int64_t extent = 0;
    int input = -1;
  };

  explicit Bindings(size_t symbols) : list(symbols) {}

  absl::InlinedVector<Binding, 32> list;
};

InputRules::InputRules(const std::vector<ValueInfo>& declared) : declared_(declared) {
  for (const ValueInfo& info : declared) {
    std::vector<int>& axes = axes_.emplace_back();
    if (!info.shape.has_value()) continue;
    for (size_t axis = 0; axis < info.shape->size(); ++axis) {
      const Dim& dim = (*info.shape)[axis];
      const auto next = static_cast<int>(symbols_.size());
      axes.push_back(
          dim.is_fixed()
              ? -1
              : symbols_.try_emplace(DeclaredExtent(info.name, dim, axis).ToString(), next)
                    .first->second);
    }
  }
}

absl::Status InputRules::Bind(const Equalities& equalities, const TensorMap& given,
                              std::vector<Tensor>& tensors) const {
  ATTNRUN_RETURN_IF_ERROR(CheckNames("input", declared_, given));
  Bindings bindings(symbols_.size());
  for (size_t i = 0; i < declared_.size(); ++i) {
    const ValueInfo& info = declared_[i];
    const auto it = tensors[i].defined() ? given.end() : given.find(info.name);
    if (it != given.end()) {
      ATTNRUN_ASSIGN_OR_RETURN(tensors[i], it->second.Dense());
    }
    if (tensors[i].defined()) {
      ATTNRUN_RETURN_IF_ERROR(CheckValue(i, tensors[i], bindings));
    } else if (!info.has_default && !IsOptional(info.kind)) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", Quoted(info.name), " (", TypeAndShape(info), ") is missing"));
    }
  }
  return CheckEqualities(equalities, bindings);
}

absl::Status InputRules::CheckValue(size_t input, const Tensor& value, Bindings& bindings) const {
  const ValueInfo& declared = declared_[input];
  if (value.is_sequence() != HoldsSequence(declared.kind)) return Mismatch(declared, value, "");
  if (value.is_sequence()) return CheckSequence(input, value);
  if (declared.kind == ValueKind::kTensor) return CheckTensor(input, value, bindings);
  // Nothing is said of the extents of other inputs where an optional is left out.
  Bindings own(symbols_.size());
  return CheckTensor(input, value, own);
}

absl::Status InputRules::CheckTensor(size_t input, const Tensor& tensor, Bindings& bindings) const {
  const ValueInfo& declared = declared_[input];
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
    auto& [extent, first] = bindings.list[axes_[input][axis]];
    if (first < 0) {
      extent = tensor.dim(axis);
      first = static_cast<int>(input);
    }
    if (extent == tensor.dim(axis)) continue;
    return Mismatch(
        declared, tensor,
        absl::StrCat(": ", Quoted(dim.symbol), " is ", extent, " in input ",
                     Quoted(declared_[first].name), " but ", tensor.dim(axis), " here"));
  }
  return absl::OkStatus();
}

// The tensors of a sequence may differ in extents of one name.
absl::Status InputRules::CheckSequence(size_t input, const Tensor& sequence) const {
  const ValueInfo& declared = declared_[input];
  if (declared.type != DataType::kUndefined && sequence.element_type() != declared.type) {
    return Mismatch(declared, sequence, "");
  }
  for (const Tensor& tensor : sequence.tensors()) {
    Bindings own(symbols_.size());
    ATTNRUN_RETURN_IF_ERROR(CheckTensor(input, tensor, own));
  }
  return absl::OkStatus();
}

std::optional<int64_t> InputRules::ExtentOf(const std::string& symbol,
                                            const Bindings& bindings) const {
  const auto known = symbols_.find(symbol);
  if (known == symbols_.end() || bindings.list[known->second].input < 0) return std::nullopt;
  return bindings.list[known->second].extent;
}

absl::Status InputRules::CheckEqualities(const Equalities& equalities,
                                         const Bindings& bindings) const {
  for (const auto& [a, b, node] : equalities.list()) {
    const auto extent = [&](const std::string& symbol) { return ExtentOf(symbol, bindings); };
    const auto left = a.ValueAt(extent);
    const auto right = b.ValueAt(extent);
    if (!left.has_value() || !right.has_value() || *left == *right) continue;
    std::map<std::string, std::string> read;
    const auto tell = [&](const std::string& symbol) {
      const auto found = ExtentOf(symbol, bindings);
      if (!found.has_value()) return found;
      const std::string& input = declared_[bindings.list[symbols_.at(symbol)].input].name;
      read[symbol] = absl::StrCat(symbol, " is ", *found, " in input ", Quoted(input));
      return found;
    };
    a.ValueAt(tell);
    b.ValueAt(tell);
    const auto append = [](std::string* out, const auto& entry) { out->append(entry.second); };
    return absl::InvalidArgumentError(absl::StrCat(
        "the extents of the inputs do not fit together: ", node, " needs ", a.ToString(), " = ",
        b.ToString(), ", but ", absl::StrJoin(read, " and ", append)));
  }
  return absl::OkStatus();
}

}  // namespace attnrun
