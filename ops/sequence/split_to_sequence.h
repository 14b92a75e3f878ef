// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_SEQUENCE_SPLIT_TO_SEQUENCE_H_
#define ATTNRUN_OPS_SEQUENCE_SPLIT_TO_SEQUENCE_H_

#include <memory>

#include "ops/interface/attribute_reader.h"
#include "ops/movement/strided_view.h"

namespace attnrun::ops {

// ONNX SplitToSequence-11, -24 (data, split?): the sequence of consecutive pieces of the data along
// `axis` (default: 0). `split` is the extent of every piece, but for the last, which may be
// smaller, or a list with the extents of all pieces. Without it, pieces have extent 1, and lack the
// axis if `keepdims` is 0.
class SplitToSequence final : public Op {
 public:
  explicit SplitToSequence(AttributeReader& attributes);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

  // Sets output 0. `move` is MoveView or MoveViewReference.
  absl::Status Cut(OpContext& context,
                   absl::Status (*move)(OpContext&, int, const Tensor&, const StridedView&)) const;

 private:
  const int64_t axis_;
  const bool keepdims_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_SEQUENCE_SPLIT_TO_SEQUENCE_H_
