// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GEMM_PACKED_STORE_H_
#define ATTNRUN_OPS_GEMM_PACKED_STORE_H_

#include <memory>

#include "ops/gemm/side_by_side.h"

namespace attnrun::ops {

class PackedMatrix;

// A store for packed matrices that outlives the process, such as the weight cache.
class PackedStore {
 public:
  virtual ~PackedStore() = default;

  // The packed matrix of this weight; null if the store has none.
  virtual std::shared_ptr<const PackedMatrix> Find(const SideBySide& weight) = 0;

  // Adds a matrix that Find did not find. Weights that the store could not recognize again are
  // ignored.
  virtual void Add(const SideBySide& weight, std::shared_ptr<const PackedMatrix> matrix) = 0;
};

// While it exists, PackedMatrix::Pack on this thread looks into the store first and adds to it.
// Null for no store.
class ScopedPackedStore {
 public:
  explicit ScopedPackedStore(PackedStore* store);
  ScopedPackedStore(const ScopedPackedStore&) = delete;
  ScopedPackedStore& operator=(const ScopedPackedStore&) = delete;
  ~ScopedPackedStore();

  static PackedStore* Current();

 private:
  PackedStore* const outer_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GEMM_PACKED_STORE_H_
