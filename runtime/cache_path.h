// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_RUNTIME_CACHE_PATH_H_
#define ATTNRUN_RUNTIME_CACHE_PATH_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "graph/graph.h"
#include "optimizer/analysis/facts.h"

// The way of a cache of keys and values through a graph, to the one that follows it.
namespace attnrun {

// The inputs of a node whose elements become elements of its output; none if the node does not only
// move elements.
std::vector<int> MovedInputs(const Node& node);

// The values from `past` to `present`, both included: each but the first is the output of a node
// that moves elements of the one before. nullopt if there is no such way, or if a body reads a
// value on it.
std::optional<std::vector<Value*>> CachePath(Value* past, Value* present);

// True if every node on the path moves rows along the last of `rank` axes as a whole.
bool KeepsRows(absl::Span<Value* const> path, int64_t rank, opt::Facts& facts);

}  // namespace attnrun

#endif  // ATTNRUN_RUNTIME_CACHE_PATH_H_
