// SPDX-License-Identifier: Apache-2.0
#include "graph/attribute_key.h"

#include "absl/strings/str_cat.h"

namespace attnrun {

bool AppendKey(const AttributeValue& value, std::string& key) {
  if (std::holds_alternative<std::shared_ptr<Graph>>(value)) return false;
  if (std::holds_alternative<std::vector<Tensor>>(value)) return false;
  const auto* tensor = std::get_if<Tensor>(&value);
  if (tensor != nullptr) {
    if (tensor->type() == DataType::kString || !tensor->is_dense()) return false;
    absl::StrAppend(&key, TypeAndShape(*tensor));
    key.append(static_cast<const char*>(tensor->raw()), tensor->byte_size());
    return true;
  }
  if (const auto* number = std::get_if<float>(&value)) {
    key.append(reinterpret_cast<const char*>(number), sizeof(float));
    return true;
  }
  // ToString keeps only six digits of a float.
  if (const auto* numbers = std::get_if<std::vector<float>>(&value)) {
    absl::StrAppend(&key, KindName(value), numbers->size(), ":");
    key.append(reinterpret_cast<const char*>(numbers->data()), numbers->size() * sizeof(float));
    return true;
  }
  absl::StrAppend(&key, KindName(value), ToString(value));
  return true;
}

bool AppendKey(const AttributeMap& attributes, std::string& key) {
  for (const auto& [name, attribute] : attributes) {
    absl::StrAppend(&key, "|", name, "=");
    if (!AppendKey(attribute, key)) return false;
  }
  return true;
}

}  // namespace attnrun
