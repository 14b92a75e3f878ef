// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_REDUCE_REDUCE_H_
#define ATTNRUN_OPS_REDUCE_REDUCE_H_

#include <memory>
#include <optional>
#include <vector>

#include "ops/interface/attribute_reader.h"
#include "ops/interface/op.h"

namespace attnrun::ops {

enum class Reduction {
  kSum,
  kMean,
  kMax,
  kMin,
  kProd,
  // sum |x|
  kL1,
  // sqrt(sum x^2)
  kL2,
  // log(sum x)
  kLogSum,
  // log(sum exp(x))
  kLogSumExp,
  // sum x^2
  kSumSquare,
};

// The axes of one reduction.
struct ReduceShape {
  // The input's shape with 1 on the reduced axes.
  Shape kept;
  // The shape of the output: `kept`, or `kept` without the reduced axes.
  Shape output;
};

// ONNX ReduceSum-1, -11, -13; ReduceMean, ReduceProd, ReduceL1, ReduceL2, ReduceSumSquare-1, -11,
// -13, -18; ReduceMax, ReduceMin-1, -11, -12, -13, -18, -20; ReduceLogSum, ReduceLogSumExp-1, -11,
// -13, -18, -28. The axes are an attribute up to version 11 (Sum) or 13 (the others), an input in
// later versions. Without axes all are reduced, or with noop_with_empty_axes none: then only the
// element-wise part, such as the square, is applied. Over no elements Sum, L1, L2 and SumSquare
// give 0, Prod 1, Max the least and Min the greatest value of the type, LogSum and LogSumExp -inf,
// Mean NaN (0 for integers). A NaN among the elements makes the result NaN. Integers are summed and
// multiplied modulo 2^bits; a mean is truncated.
class Reduce final : public Op {
 public:
  Reduce(AttributeReader& attributes, Reduction reduction);

  absl::Status Reference(OpContext& context) const override;
  void Infer(InferContext& context) const override;
  void Axes(AxesContext& context) const override;
  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

  Reduction reduction() const { return reduction_; }
  absl::StatusOr<ReduceShape> Resolve(const OpContext& context) const;

 private:
  absl::StatusOr<Shape> ReducedAxes(const OpContext& context) const;
  // True for each of `rank` axes that is reduced; nullopt if that differs between runs.
  std::optional<std::vector<bool>> InferReduced(const KnownInputs& inputs, size_t rank) const;

  Reduction reduction_;
  std::vector<int64_t> axes_;
  bool keep_axes_;
  bool empty_is_none_ = false;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_REDUCE_REDUCE_H_
