// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_GATHER_TENSOR_SCATTER_H_
#define ATTNRUN_OPS_GATHER_TENSOR_SCATTER_H_

#include <memory>
#include <vector>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

// ONNX TensorScatter-24 (cache [B, D..., T, E...], update [B, D..., S, E...], write_indices? int64
// [B]): a copy of the cache with the update written along `axis` (that of T, default -2, never the
// batch axis 0) from write_indices[b] on (left out: 0). `mode` "linear": the update must end within
// T; "circular": it continues at the front.
class TensorScatter final : public Op {
 public:
  explicit TensorScatter(AttributeReader& attributes)
      : axis_(attributes.Int("axis", -2)),
        circular_(attributes.OneOf("mode", "linear", {"linear", "circular"}) == "circular") {}

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

 private:
  int64_t axis_;
  bool circular_;
};

// The checked inputs of TensorScatter.
struct CacheWrite {
  int axis = 0;
  // The number of positions along `axis`: of the cache (T) and of the update (S).
  int64_t capacity = 0;
  int64_t count = 0;
  // Products of the extents between the batch axis and `axis`, and after `axis`.
  int64_t rows = 1;
  int64_t inner = 1;
  // The first position of each sample, in [0, T].
  std::vector<int64_t> starts;
};

absl::StatusOr<CacheWrite> CheckCacheWrite(const OpContext& context, int64_t axis, bool circular);

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_GATHER_TENSOR_SCATTER_H_
