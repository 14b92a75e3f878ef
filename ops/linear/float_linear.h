// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_OPS_LINEAR_FLOAT_LINEAR_H_
#define ATTNRUN_OPS_LINEAR_FLOAT_LINEAR_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "ops/linear/linear.h"

namespace attnrun::ops {

// A Linear of floats: all inputs are floats, perhaps of different types; Y has the type of X.
// Attribute: trans_w (ints): for each weight in order, 1 if it is [Ni, K], 0 for those beyond the
// list.
class FloatLinear final : public Linear {
 public:
  explicit FloatLinear(AttributeReader& attributes)
      : Linear(LinearFormat::kFloat, attributes), transposed_(attributes.Ints(kTransposed)) {}

  absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelContext& context) const override;

  static constexpr char kTransposed[] = "trans_w";

  // True if Wi is [Ni, K].
  bool is_transposed(int index) const {
    return index < std::ssize(transposed_) && transposed_[index] != 0;
  }

 protected:
  size_t ColumnAxis(int index) const override { return is_transposed(index) ? 0 : 1; }
  absl::Status CheckTypes(const OpContext& context) const override;
  absl::Status CheckWeight(const Tensor& x, int index, const Weight& weight) const override {
    return CheckMatrix(x, index, weight.values);
  }

 private:
  std::vector<int64_t> transposed_;
};

}  // namespace attnrun::ops

#endif  // ATTNRUN_OPS_LINEAR_FLOAT_LINEAR_H_
