// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPTIMIZER_REWRITE_SHARED_CONSTANTS_H_
#define ATTNRUN_OPTIMIZER_REWRITE_SHARED_CONSTANTS_H_

#include <string>
#include <vector>

#include "core/hash_map.h"
#include "graph/graph.h"

namespace attnrun::opt {

// True if the tensor is dense and not of strings, so that equal tensors are those of equal bytes.
bool HasPlainBytes(const Tensor& tensor);

// A key made of type, shape and a few samples of the bytes: equal for equal tensors and rarely for
// others. Reading every weight in full would cost more than it is worth.
std::string SampleOf(const Tensor& tensor);

// True if both have the same type, shape and bytes. Precondition: HasPlainBytes for both.
bool SameElements(const Tensor& a, const Tensor& b);

// Lets initializers with equal elements share their bytes, across graphs.
class SharedConstants {
 public:
  // Makes each initializer of the graph that equals an earlier one use the earlier one's bytes.
  void Share(Graph& graph);

 private:
  HashMap<std::string, std::vector<Tensor>> seen_;
};

}  // namespace attnrun::opt

#endif  // ATTNRUN_OPTIMIZER_REWRITE_SHARED_CONSTANTS_H_
