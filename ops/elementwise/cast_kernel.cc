// SPDX-License-Identifier: Apache-2.0
#include "core/status.h"
#include "ops/elementwise/cast.h"
#include "ops/elementwise/rows.h"

namespace attnrun::ops {
namespace {

// The type by way of which ConvertRow converts `type` from or to any other.
DataType Station(DataType type) {
  const bool direct = type == DataType::kUint8 || type == DataType::kInt8;
  return direct ? type : ComputeType(type);
}

class CastKernel final : public RowKernel {
 public:
  explicit CastKernel(DataType to) : to_(to) {}

  absl::Status Run(OpContext& context) const override {
    const Tensor& x = context.input(0);
    const DataType to = OutputType(context);
    if (x.type() == to) {
      context.SetOutput(0, x);
      return absl::OkStatus();
    }
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, to, x.shape()));
    RunRows(Program(context), {&x}, *y);
    return absl::OkStatus();
  }

 protected:
  DataType OutputType(const OpContext& context) const override {
    return to_ != DataType::kUndefined ? to_ : context.input(1).type();
  }

  RowProgram Program(const OpContext& context) const override {
    const DataType from = context.input(0).type();
    const DataType to = OutputType(context);
    const DataType first = Station(from);
    const DataType last = Station(to);
    RowProgram program{.function = ConvertRow(first, last), .inputs = {first}, .output = last};
    // By way of float, a double would be rounded twice.
    if (from == DataType::kDouble && last != to) program.function = nullptr;
    return program;
  }

 private:
  // kUndefined: CastLike.
  const DataType to_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> Cast::MakeKernel(const KernelContext& /*context*/) const {
  return std::make_unique<CastKernel>(to_);
}

}  // namespace attnrun::ops
