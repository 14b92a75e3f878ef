// SPDX-License-Identifier: Apache-2.0
#include "fuzz/targets/small_inputs.h"

#include "core/elements.h"
#include "core/status.h"

namespace attnrun::testing {
namespace {

constexpr int64_t kMostElements = 65'536;

absl::StatusOr<Tensor> SmallTensor(DataType type, const std::vector<int64_t>& shape) {
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t count, NumElements(shape));
  if (count > kMostElements) return absl::ResourceExhaustedError("too many elements");
  if (type == DataType::kString) {
    return Tensor::Of<std::string>(shape, std::vector<std::string>(count, "a"));
  }
  std::vector<int64_t> ints(count);
  for (int64_t i = 0; i < count; ++i) ints[i] = i % 4;
  if (IsInteger(type) || type == DataType::kBool) return FromInts(type, shape, ints);
  if (IsFloatingPoint(type)) {
    return FromDoubles(type, shape, std::vector<double>(ints.begin(), ints.end()));
  }
  return FromComplex(type, shape, std::vector<std::complex<double>>(ints.begin(), ints.end()));
}

}  // namespace

absl::StatusOr<TensorMap> SmallInputs(const std::vector<ValueInfo>& declared) {
  TensorMap inputs;
  for (const ValueInfo& info : declared) {
    std::vector<int64_t> shape;
    for (const Dim& dim : info.shape.value_or(std::vector<Dim>())) {
      shape.push_back(dim.is_fixed() ? dim.value : 2);
    }
    ATTNRUN_ASSIGN_OR_RETURN(Tensor tensor, SmallTensor(info.type, shape));
    if (HoldsSequence(info.kind)) {
      ATTNRUN_ASSIGN_OR_RETURN(tensor, Tensor::Sequence(info.type, {tensor, tensor}));
    }
    inputs[info.name] = std::move(tensor);
  }
  return inputs;
}

}  // namespace attnrun::testing
