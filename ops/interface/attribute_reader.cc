// SPDX-License-Identifier: Apache-2.0
#include "ops/interface/attribute_reader.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/quote.h"

namespace attnrun::ops {

const AttributeValue* AttributeReader::Read(absl::string_view name) {
  read_.emplace(name);
  return node_.attribute(name);
}

void AttributeReader::Fail(absl::string_view name, absl::string_view what,
                           absl::string_view found) {
  errors_.push_back(absl::StrCat("attribute '", name, "' ", what, " (found ", found, ")"));
}

std::string AttributeReader::OneOf(absl::string_view name, std::string otherwise,
                                   absl::Span<const absl::string_view> allowed) {
  std::string value = String(name, std::move(otherwise));
  if (!absl::c_linear_search(allowed, value)) {
    Fail(name, absl::StrCat("must be one of ", absl::StrJoin(allowed, ", ")), Quoted(value));
  }
  return value;
}

DataType AttributeReader::ElementType(absl::string_view name, DataType otherwise) {
  const auto type = static_cast<DataType>(Int(name, static_cast<int64_t>(otherwise)));
  if (Has(name) && !IsValid(type)) {
    Fail(name, "must be an element type", absl::StrCat(static_cast<int64_t>(type)));
    return otherwise;
  }
  return type;
}

void AttributeReader::ExpectInputs(int min, int max) {
  int found = static_cast<int>(node_.inputs().size());
  while (found > 0 && node_.input(found - 1) == nullptr) --found;
  bool complete = found >= min && found <= max;
  for (int i = 0; complete && i < min; ++i) complete = node_.input(i) != nullptr;
  if (complete) return;
  errors_.push_back(absl::StrCat("version ", version_, " takes ", min, " to ", max,
                                 " inputs, but found ", found));
}

void AttributeReader::ExpectInt(absl::string_view name, int64_t otherwise) {
  const int64_t found = Int(name, otherwise);
  if (found != otherwise)
    Fail(name, absl::StrCat("is only covered if it is ", otherwise), absl::StrCat(found));
}

void AttributeReader::ExpectFloat(absl::string_view name, float otherwise) {
  const float found = Float(name, otherwise);
  if (found != otherwise)
    Fail(name, absl::StrCat("is only covered if it is ", otherwise), absl::StrCat(found));
}

void AttributeReader::ExpectNoInput(int i, absl::string_view name) {
  if (node_.input(i) == nullptr) return;
  errors_.push_back(absl::StrCat("input ", i, ", ", name, ", is not covered"));
}

absl::Status AttributeReader::Finish() const {
  std::vector<std::string> errors = errors_;
  for (const auto& [name, value] : node_.attributes()) {
    if (read_.contains(name)) continue;
    errors.push_back(absl::StrCat("attribute ", Quoted(name), " is unknown to version ", version_));
  }
  if (errors.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(errors, "; "));
}

}  // namespace attnrun::ops
