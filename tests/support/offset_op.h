// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_SUPPORT_OFFSET_OP_H_
#define ATTNRUN_TESTS_SUPPORT_OFFSET_OP_H_

#include <memory>
#include <utility>
#include <vector>

#include "core/elements.h"
#include "core/status.h"
#include "ops/interface/registry.h"

namespace attnrun::testing {

inline constexpr char kOffsetDomain[] = "attnrun.test";

// The kernel of Offset: y = -x in float32, and y = -x + error in a lower precision. It works in
// place where it may.
class OffsetKernel final : public ops::Kernel {
 public:
  OffsetKernel(float error, Precision precision) : error_(error), precision_(precision) {}

  absl::string_view name() const override { return "offset"; }
  Precision precision() const override { return precision_; }
  bool Accepts(const ops::OpContext& context) const override {
    return context.input(0).type() == DataType::kFloat;
  }

  absl::Status Run(ops::OpContext& context) const override {
    const Tensor& x = context.input(0);
    absl::StatusOr<Tensor*> y = context.AllocateOutput(0, x.type(), x.shape(), {0});
    if (!y.ok()) return y.status();
    const float error = precision_ == Precision::kFloat32 ? 0 : error_;
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      (*y)->mutable_data<float>()[i] = error - x.data<float>()[i];
    }
    return absl::OkStatus();
  }

 private:
  const float error_;
  const Precision precision_;
};

// attnrun.test.Offset-1: y = -x, with an error in lower precisions that the attribute `error`
// gives, so that tests know it beforehand.
class Offset final : public ops::Op {
 public:
  explicit Offset(ops::AttributeReader& attributes) : error_(attributes.Float("error", 0)) {}

  absl::Status Reference(ops::OpContext& context) const override {
    ATTNRUN_ASSIGN_OR_RETURN(std::vector<double> values, ToDoubles(context.input(0)));
    for (double& value : values) value = -value;
    ATTNRUN_ASSIGN_OR_RETURN(
        Tensor y, FromDoubles(context.input(0).type(), context.input(0).shape(), values));
    context.SetOutput(0, std::move(y));
    return absl::OkStatus();
  }
  absl::StatusOr<std::unique_ptr<ops::Kernel>> MakeKernel(
      const ops::KernelContext& context) const override {
    return std::make_unique<OffsetKernel>(error_, context.precision);
  }

 private:
  const float error_;
};

// Adds Offset to the operators of this program. The registry is constant only to those who ask it.
inline void RegisterOffset() {
  const_cast<ops::OpRegistry&>(ops::OpRegistry::Get())
      .Register({.domain = kOffsetDomain,
                 .name = "Offset",
                 .since = {1},
                 .inputs = {1, 1},
                 .outputs = {1, 1},
                 .make = ops::Make<Offset>});
}

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_SUPPORT_OFFSET_OP_H_
