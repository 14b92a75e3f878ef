// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_CONTROL_FLOW_SLICES_H_
#define ATTNRUN_OPS_CONTROL_FLOW_SLICES_H_

#include <algorithm>
#include <vector>

#include "absl/status/statusor.h"
#include "attnrun/tensor.h"

namespace attnrun::ops {

// The slice at `index` along `axis`, dense and without that axis. Preconditions: axis and index are
// within the tensor.
absl::StatusOr<Tensor> SliceAt(const Tensor& tensor, int axis, int64_t index, Allocator& allocator);

// The slices of an output of a loop, one for each run of its body. The memory that a slice takes
// beside its elements counts for the run, too: there may be very many slices without any.
class Slices {
 public:
  explicit Slices(Allocator& allocator) : allocator_(allocator) {}

  absl::Status Add(Tensor slice);
  void Reverse() { std::reverse(tensors_.begin(), tensors_.end()); }
  const std::vector<Tensor>& tensors() const { return tensors_; }

 private:
  Allocator& allocator_;
  std::vector<Tensor> tensors_;
  // Memory that is counted and not used.
  std::vector<Tensor> counted_;
};

// Stacks `slices`, which must agree in type and shape, along a new axis. No slices give an empty
// float tensor [0].
absl::StatusOr<Tensor> Stack(const std::vector<Tensor>& slices, int64_t axis, Allocator& allocator);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_CONTROL_FLOW_SLICES_H_
