// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_RULES_CLEANUP_EXTENT_SOURCES_H_
#define ATTNRUN_OPTIMIZER_RULES_CLEANUP_EXTENT_SOURCES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/hash_map.h"
#include "optimizer/rewrite/patch.h"

namespace attnrun::opt {

// The values from which a computation reads each symbolic extent: the graph inputs and captured
// values, and the values of which windows and slices make new extents. Each symbol has one source,
// so that all readers share it.
class ExtentSources {
 public:
  // `order` has the nodes of the graph in topological order.
  ExtentSources(RuleContext& context, absl::Span<Node* const> order);

  // True if `node` may be replaced by a new computation of the extents: each is a number, or a sum
  // of numbers and multiples of extents that have sources. No extent is read from a value that
  // depends on the node.
  bool HaveAll(absl::Span<const SymInt> extents, const Node& node) const;

  // True if the node's output is one that ReadAll writes.
  bool IsReadBy(const Node& node) const;

  // The extents as one int64 tensor. Precondition: HaveAll.
  Value* ReadAll(Patch& patch, absl::Span<const SymInt> extents) const;

 private:
  // The symbol plus `more`, a number, is the extent of this axis of the value of that name: a
  // rewrite may replace the value by one that takes over the name.
  struct Source {
    SymInt symbol;
    std::string value;
    int64_t axis = 0;
    int64_t more = 0;
  };

  // Adds the extents of a value; without `products`, none that is a product of those that there
  // are.
  void Add(Value* value, Facts& facts, bool products = true);
  bool IsProduct(const SymInt& term) const;
  Value* Read(Patch& patch, const SymInt& extent) const;
  // The most terms of a sum that is read.
  static constexpr int kMostTerms = 8;

  // Null if the value has been removed.
  Value* ValueOf(const Source& source) const;
  const Source& SourceOf(const SymInt& term) const;
  Value* ReadSource(Patch& patch, const SymInt& term) const;
  bool IsRead(const Value* value, int terms = kMostTerms) const;
  bool IsSource(const Node& shape) const;

  const Graph& graph_;
  // Products of two values, and what is computed of them element by element.
  HashSet<const Value*> scores_;
  HashMap<std::string, Source> sources_;
};

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_RULES_CLEANUP_EXTENT_SOURCES_H_
