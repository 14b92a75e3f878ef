// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_PACKED_STORE_H_
#define ATTNRUN_OPS_GEMM_PACKED_STORE_H_

#include <memory>

#include "ops/gemm/side_by_side.h"
#include "ops/gemm/weight_format.h"

namespace attnrun::ops {

class PackedMatrix;

// A store for packed matrices that outlives the process, such as the weight cache.
class PackedStore {
 public:
  virtual ~PackedStore() = default;

  // The packed matrix of this weight in this format; null if the store has none.
  virtual std::shared_ptr<const PackedMatrix> Find(WeightFormat format,
                                                   const SideBySide& weight) = 0;

  // Adds a matrix that Find did not find. Weights that the store could not recognize again are
  // ignored.
  virtual void Add(const SideBySide& weight, std::shared_ptr<const PackedMatrix> matrix) = 0;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_PACKED_STORE_H_
