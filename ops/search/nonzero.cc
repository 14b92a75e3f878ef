// SPDX-License-Identifier: Apache-2.0
#include "ops/search/nonzero.h"

#include <algorithm>
#include <string>

#include "core/elements.h"
#include "core/status.h"

namespace attnrun::ops {
namespace {

template <typename T, typename IsZero>
std::vector<int64_t> Positions(const std::vector<T>& values, IsZero is_zero) {
  std::vector<int64_t> positions;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!is_zero(values[i])) positions.push_back(static_cast<int64_t>(i));
  }
  return positions;
}

absl::StatusOr<std::vector<int64_t>> Positions(const Tensor& x) {
  const auto is_zero = [](const auto& value) { return value == 0.0; };
  if (x.type() == DataType::kString) {
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<std::string> values, ToStrings(x));
    return Positions(values, [](const std::string& text) { return text.empty(); });
  }
  if (x.type() == DataType::kComplex64 || x.type() == DataType::kComplex128) {
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<std::complex<double>> values, ToComplex(x));
    return Positions(values, is_zero);
  }
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(x));
  return Positions(values, is_zero);
}

// Counts first, so that the output is allocated once.
class NonZeroKernel final : public Kernel {
 public:
  absl::string_view name() const override { return "scan"; }
  bool Accepts(const OpContext& context) const override {
    const DataType type = context.input(0).type();
    return type == DataType::kBool || type == DataType::kInt64 || type == DataType::kInt32 ||
           type == DataType::kFloat;
  }

  absl::Status Run(OpContext& context) const override {
    switch (context.input(0).type()) {
      case DataType::kBool:
        return Find<bool>(context);
      case DataType::kInt64:
        return Find<int64_t>(context);
      case DataType::kInt32:
        return Find<int32_t>(context);
      default:
        return Find<float>(context);
    }
  }

 private:
  template <typename T>
  static absl::Status Find(OpContext& context) {
    const Tensor& x = context.input(0);
    const T* values = x.data<T>();
    int64_t count = 0;
    for (int64_t i = 0; i < x.num_elements(); ++i) count += values[i] != T(0) ? 1 : 0;
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y,
                             context.AllocateOutput(0, DataType::kInt64, {x.rank(), count}));
    auto* out = y->mutable_data<int64_t>();
    Shape index(x.rank(), 0);
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      if (values[i] != T(0)) {
        for (int axis = 0; axis < x.rank(); ++axis) out[axis * count] = index[axis];
        ++out;
      }
      for (int axis = x.rank(); axis-- > 0;) {
        if (++index[axis] < x.dim(axis)) break;
        index[axis] = 0;
      }
    }
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status NonZero::Reference(OpContext& context) const {
  const Tensor& x = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> positions, Positions(x));
  const auto count = static_cast<int64_t>(positions.size());
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * y,
                           context.AllocateOutput(0, DataType::kInt64, {x.rank(), count}));
  const Shape strides = DenseStrides(x.shape());
  for (int axis = 0; axis < x.rank(); ++axis) {
    for (int64_t i = 0; i < count; ++i) {
      y->mutable_data<int64_t>()[axis * count + i] = positions[i] / strides[axis] % x.dim(axis);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> NonZero::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<NonZeroKernel>();
}

}  // namespace attnrun::ops
