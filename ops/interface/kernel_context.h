// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_INTERFACE_KERNEL_CONTEXT_H_
#define ATTNRUN_OPS_INTERFACE_KERNEL_CONTEXT_H_

#include <string>

#include "absl/types/span.h"
#include "attnrun/precision.h"
#include "attnrun/tensor.h"

namespace attnrun::ops {

class PackedStore;

// A node and its session, as far as they matter to the kernel that is made for it.
struct KernelContext {
  // One per input of the node; undefined unless it is the same in every run.
  absl::Span<const Tensor> constants;
  Precision precision = Precision::kFloat32;
  // Keeps packed weights beyond the process; null for none.
  PackedStore* packed_store = nullptr;
  // True if nothing but element-wise nodes and views lies between the node and the outputs of the
  // model, as behind a projection to logits.
  bool is_final = false;
  // Takes the reason if the kernel keeps its products finer than `precision`; null for none.
  std::string* finer_reason = nullptr;
  // True if the products of most runs have few rows.
  bool few_rows = false;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_INTERFACE_KERNEL_CONTEXT_H_
