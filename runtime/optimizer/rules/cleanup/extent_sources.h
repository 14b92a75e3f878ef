// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_CLEANUP_EXTENT_SOURCES_H_
#define ATTNRUN_OPTIMIZER_RULES_CLEANUP_EXTENT_SOURCES_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "optimizer/rewrite/patch.h"

namespace attnrun::opt {

// Where extents are read off, by their symbol: the graph inputs, what a body captures, and what
// windows and slices make of those.
class ExtentSources {
 public:
  // `order`: the nodes of the graph, topologically.
  ExtentSources(RuleContext& context, absl::Span<Node* const> order);

  // True if `node` may compute the extent anew: if it is a number, or a sum of multiples of extents
  // that are read off elsewhere, and of numbers. Nothing is read off what depends on the node.
  bool Has(const SymInt& extent, const Node& node) const;

  // True if the node's output is what Read writes, or such values next to each other.
  bool IsReadBy(const Node& node) const;

  // The extent as an int64 tensor [1]. Precondition: Has.
  Value* Read(Patch& patch, const SymInt& extent) const;

 private:
  // The symbol and `more`, a number, are the extent of an axis.
  struct Source {
    Value* value = nullptr;
    int64_t axis = 0;
    int64_t more = 0;
  };

  void Add(Value* value, Facts& facts);
  const Source& SourceOf(const SymInt& term) const;
  Value* ReadSource(Patch& patch, const SymInt& term) const;
  bool IsRead(const Value* value, int terms = 8) const;
  bool IsSource(const Node& shape) const;

  absl::flat_hash_map<std::string, Source> sources_;
};

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_CLEANUP_EXTENT_SOURCES_H_
