// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/parts.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/status.h"
#include "tools/attnrun/utf.h"

namespace attnrun::cli {
namespace {

constexpr absl::string_view kEmptyName = "empty";

// The index of a tensor of the sequence `value`; nullopt if the array is none of its tensors.
std::optional<int64_t> IndexIn(absl::string_view array, absl::string_view value) {
  if (!absl::ConsumePrefix(&array, value) || !absl::ConsumePrefix(&array, "/")) return std::nullopt;
  if (array == kEmptyName) return Place::kEmpty;
  int64_t index = 0;
  // A sign, blanks and leading zeros would give one tensor two names.
  if (!absl::SimpleAtoi(array, &index) || absl::StrCat(index) != array || index < 0) {
    return std::nullopt;
  }
  return index;
}

}  // namespace

std::optional<Place> PlaceOf(const std::string& name, const std::vector<ValueInfo>& declared) {
  for (const ValueInfo& info : declared) {
    if (info.name == name) return Place{&info, Place::kWhole};
  }
  for (const ValueInfo& info : declared) {
    if (!HoldsSequence(info.kind)) continue;
    if (const auto index = IndexIn(name, info.name)) return Place{&info, *index};
  }
  return std::nullopt;
}

absl::Status Parts::Add(const Place& place, Tensor tensor) {
  const std::string& name = place.info->name;
  if (place.index != Place::kWhole) {
    sequences_[name][place.index] = std::move(tensor);
  } else if (!HoldsSequence(place.info->kind) || tensor.is_sequence()) {
    whole_[name] = std::move(tensor);
  } else {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", Printable(name), "' is a sequence: expected the arrays '", Printable(name),
        "/0' and so on, or '", Printable(name), "/empty', but found '", Printable(name), "'"));
  }
  return absl::OkStatus();
}

absl::Status Parts::AddTo(TensorMap& values) && {
  for (auto& [name, tensor] : whole_) values[name] = std::move(tensor);
  for (const auto& [name, parts] : sequences_) {
    const bool is_empty = parts.size() == 1 && parts.begin()->first == Place::kEmpty;
    std::vector<Tensor> tensors;
    for (const auto& [index, tensor] : parts) {
      if (is_empty) break;
      if (index != static_cast<int64_t>(tensors.size())) {
        return absl::InvalidArgumentError(
            absl::StrCat("expected ", parts.size(), " tensors of the sequence '", Printable(name),
                         "', '", Printable(name), "/0' and so on, but '", Printable(name), "/",
                         tensors.size(), "' is missing"));
      }
      tensors.push_back(tensor);
    }
    ATTNRUN_ASSIGN_OR_RETURN(values[name], Tensor::Sequence(parts.begin()->second.type(), tensors));
  }
  return absl::OkStatus();
}

std::vector<std::pair<std::string, Tensor>> ArraysOf(
    const std::vector<std::pair<std::string, Tensor>>& values) {
  std::vector<std::pair<std::string, Tensor>> arrays;
  for (const auto& [name, value] : values) {
    if (!value.defined()) continue;
    if (!value.is_sequence()) {
      arrays.emplace_back(name, value);
      continue;
    }
    for (size_t i = 0; i < value.tensors().size(); ++i) {
      arrays.emplace_back(absl::StrCat(name, "/", i), value.tensors()[i]);
    }
    if (!value.tensors().empty()) continue;
    absl::StatusOr<Tensor> none = Tensor::Allocate(value.element_type(), {0});
    if (none.ok()) arrays.emplace_back(absl::StrCat(name, "/", kEmptyName), *std::move(none));
  }
  return arrays;
}

}  // namespace attnrun::cli
