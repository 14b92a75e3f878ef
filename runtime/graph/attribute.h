// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_GRAPH_ATTRIBUTE_H_
#define ATTNRUN_GRAPH_ATTRIBUTE_H_

#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "attnrun/tensor.h"
#include "graph/type.h"

namespace attnrun {

class Graph;

// The members of the two classes below are not inline: nearly every file needs them, and compiling
// them again in each would take a large part of the time to build attnrun.

// The value of a node's attribute (ONNX AttributeProto). A subgraph belongs to its node.
class AttributeValue
    : public std::variant<int64_t, float, std::string, Tensor, std::shared_ptr<Graph>, Type,
                          std::vector<int64_t>, std::vector<float>, std::vector<std::string>,
                          std::vector<Tensor>> {
 public:
  using variant::variant;
  // The integer 0.
  AttributeValue();
  AttributeValue(const AttributeValue& other);
  AttributeValue(AttributeValue&& other) noexcept;
  AttributeValue& operator=(const AttributeValue& other);
  AttributeValue& operator=(AttributeValue&& other) noexcept;
  ~AttributeValue();
};

// Attributes by name, in the order of their names. The members work as those of std::map.
class AttributeMap {
 public:
  using Entries = std::map<std::string, AttributeValue, std::less<>>;

  AttributeMap();
  AttributeMap(std::initializer_list<Entries::value_type> entries);
  AttributeMap(const AttributeMap& other);
  AttributeMap(AttributeMap&& other) noexcept;
  AttributeMap& operator=(const AttributeMap& other);
  AttributeMap& operator=(AttributeMap&& other) noexcept;
  ~AttributeMap();

  Entries::iterator begin() { return entries_.begin(); }
  Entries::iterator end() { return entries_.end(); }
  Entries::const_iterator begin() const { return entries_.begin(); }
  Entries::const_iterator end() const { return entries_.end(); }
  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  Entries::const_iterator find(absl::string_view name) const;
  bool contains(absl::string_view name) const { return find(name) != end(); }

  AttributeValue& operator[](absl::string_view name);
  // Adds those of `other` that this lacks.
  void insert(const AttributeMap& other);
  // Returns the number of attributes erased, 0 or 1.
  size_t erase(absl::string_view name);

 private:
  Entries entries_;
};

// ONNX's name of the kind, for messages: "int", "floats", "graph".
absl::string_view KindName(const AttributeValue& value);

// A short text for dumps: "1", "[1,2]", "'both'", "float[3]", "graph(12 nodes)".
std::string ToString(const AttributeValue& value);

}  // namespace attnrun

#endif  // ATTNRUN_GRAPH_ATTRIBUTE_H_
