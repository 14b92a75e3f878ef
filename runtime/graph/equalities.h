// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_GRAPH_EQUALITIES_H_
#define ATTNRUN_GRAPH_EQUALITIES_H_

#include <string>
#include <vector>

#include "graph/symbolic.h"

namespace attnrun {

// Two numbers that are equal in every run that succeeds, since the node that `node` describes fails
// where they differ.
struct Equality {
  SymInt a;
  SymInt b;
  std::string node;
};

// The equalities known of a model, and the normal form that follows from them: for memory = batch
// each `memory` becomes `batch`, and for 8 * (side/8) = side each 8 * (side/8) becomes `side`.
class Equalities {
 public:
  // Adds what a = b says beyond what is known. Factors that both sides have are taken to be other
  // than 0. Returns false if it says nothing new, can be true in no run, or cannot be computed from
  // the extents of inputs.
  bool Add(const SymInt& a, const SymInt& b, const std::string& node);

  bool empty() const { return list_.empty(); }
  // In the order in which they were added. `a` is a single term, whose place `b` takes.
  const std::vector<Equality>& list() const { return list_; }

  // The normal form of a number: equal numbers have equal forms more often than without it.
  SymInt Reduced(const SymInt& number) const;

 private:
  std::vector<Equality> list_;
};

}  // namespace attnrun

#endif  // ATTNRUN_GRAPH_EQUALITIES_H_
