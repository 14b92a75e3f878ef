// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_MOE_EXPERTS_H_
#define ATTNRUN_OPS_MOE_EXPERTS_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/gemm/gemm.h"
#include "ops/moe/experts_op.h"

namespace attnrun::ops {

// A layer of one expert, packed.
struct PackedLayer {
  // One of them.
  std::shared_ptr<const PackedMatrix> floats;
  std::shared_ptr<const NBitPanels> codes;
  // Empty: none.
  std::vector<float> bias;
  int64_t n = 0;

  // out [rows, n] = x [rows, k] W + bias.
  void Apply(const float* x, int64_t rows, int64_t k, float* out) const;
};

struct PackedExpert {
  // Layer 1 and, beside it, what it is gated with, if anything: from layer 3, or from layer 1.
  PackedLayer in;
  PackedLayer out;
};

// Packs the experts; empty if the kernel does not take their blocks. `context`: of the kernel.
absl::StatusOr<std::vector<PackedExpert>> PackExperts(const MoeAttributes& attributes,
                                                      const std::vector<ExpertLayers>& experts,
                                                      const KernelContext& context);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_MOE_EXPERTS_H_
