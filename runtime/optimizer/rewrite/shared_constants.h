// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_REWRITE_SHARED_CONSTANTS_H_
#define ATTNRUN_OPTIMIZER_REWRITE_SHARED_CONSTANTS_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/graph.h"

namespace attnrun::opt {

// True if tensors are equal exactly if their bytes are: dense and not of strings.
bool HasPlainBytes(const Tensor& tensor);

// Equal for equal tensors and rarely for others: type, shape and a few samples of the bytes.
// Reading all of every weight would cost more than it is worth.
std::string SampleOf(const Tensor& tensor);

// Preconditions: HasPlainBytes.
bool SameElements(const Tensor& a, const Tensor& b);

// Lets initializers with equal elements share their bytes, across graphs.
class SharedConstants {
 public:
  // Each initializer of the graph that equals one seen before takes over its bytes.
  void Share(Graph& graph);

 private:
  absl::flat_hash_map<std::string, std::vector<Tensor>> seen_;
};

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_REWRITE_SHARED_CONSTANTS_H_
