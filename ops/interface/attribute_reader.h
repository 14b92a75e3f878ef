// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_INTERFACE_ATTRIBUTE_READER_H_
#define ATTNRUN_OPS_INTERFACE_ATTRIBUTE_READER_H_

#include <optional>
#include <string>
#include <vector>
#include "absl/strings/string_view.h"

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/hash_map.h"
#include "graph/graph.h"

namespace attnrun::ops {

// Reads a node's attributes while an operator is made. A getter for an attribute of the wrong kind,
// or for a required one that is missing, records an error and returns a default value. Afterwards
// the registry refuses the node, listing these errors and every attribute that was not read. So a
// factory asks only for the attributes that version() has.
class AttributeReader {
 public:
  // `version`: the operator's since_version that applies.
  AttributeReader(const Node& node, int version) : node_(node), version_(version) {}

  int version() const { return version_; }
  const Node& node() const { return node_; }

  bool Has(absl::string_view name) const { return node_.attribute(name) != nullptr; }

  int64_t Int(absl::string_view name, int64_t otherwise) {
    return Get<int64_t>(name).value_or(otherwise);
  }
  float Float(absl::string_view name, float otherwise) {
    return Get<float>(name).value_or(otherwise);
  }
  std::string String(absl::string_view name, std::string otherwise) {
    return Get<std::string>(name).value_or(std::move(otherwise));
  }
  std::vector<int64_t> Ints(absl::string_view name, std::vector<int64_t> otherwise = {}) {
    return Get<std::vector<int64_t>>(name).value_or(std::move(otherwise));
  }
  // nullopt if absent.
  template <typename T>
  std::optional<T> Get(absl::string_view name) {
    const AttributeValue* value = Read(name);
    if (value == nullptr) return std::nullopt;
    if (const T* typed = std::get_if<T>(value)) return *typed;
    Fail(name, "is of the wrong kind", KindName(*value));
    return std::nullopt;
  }
  template <typename T>
  T Required(absl::string_view name) {
    const AttributeValue* value = Read(name);
    if (value == nullptr) {
      Fail(name, "is required", "none");
    } else if (const T* typed = std::get_if<T>(value)) {
      return *typed;
    } else {
      Fail(name, "is of the wrong kind", KindName(*value));
    }
    return T();
  }
  // A string that must be one of `allowed`.
  std::string OneOf(absl::string_view name, std::string otherwise,
                    absl::Span<const absl::string_view> allowed);
  // An element type written as a number (Cast's `to`).
  DataType ElementType(absl::string_view name, DataType otherwise);

  // For operators whose number of inputs changed between versions: records an error unless the node
  // has `min` to `max` inputs, the first `min` of them not left out.
  void ExpectInputs(int min, int max);

  // For forms of an operator that are not covered: record an error unless an attribute is
  // `otherwise` or left out, or if the node has input i.
  void ExpectInt(absl::string_view name, int64_t otherwise);
  void ExpectFloat(absl::string_view name, float otherwise);
  void ExpectNoInput(int i, absl::string_view name);

  // Marks an attribute that does not bear on inference as read.
  void Ignore(absl::string_view name) { Read(name); }

  // kInvalidArgument listing all errors and every attribute that was not read.
  absl::Status Finish() const;

 private:
  const AttributeValue* Read(absl::string_view name);
  void Fail(absl::string_view name, absl::string_view what, absl::string_view found);

  const Node& node_;
  const int version_;
  HashSet<std::string> read_;
  std::vector<std::string> errors_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_INTERFACE_ATTRIBUTE_READER_H_
