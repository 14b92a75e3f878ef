// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/interrupt.h"
#include "core/status.h"
#include "core/strided.h"
#include "ops/einsum/einsum.h"

namespace attnrun::ops {
namespace {

absl::StatusOr<std::vector<double>> Read(const Tensor& tensor, double /*as*/) {
  return ToDoubles(tensor);
}
// Integers are computed modulo 2^64; the output type keeps its low bits.
absl::StatusOr<std::vector<uint64_t>> Read(const Tensor& tensor, uint64_t /*as*/) {
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> values, ToInts(tensor));
  return std::vector<uint64_t>(values.begin(), values.end());
}

template <typename T>
struct Operand {
  std::vector<T> values;
  // Strides along the output's labels, and along the summed ones.
  Shape output_strides;
  Shape summed_strides;
};

std::vector<int64_t> Offsets(const Shape& shape, const Shape& strides) {
  std::vector<int64_t> offsets;
  ForEachOffset(shape, strides, [&](int64_t offset) { offsets.push_back(offset); });
  return offsets;
}

// Calls visit() for every combination of the summed labels, with `offsets` at the operands'
// elements. Walks like ForEachOffset, but with a set of strides for each operand.
template <typename T, typename Visit>
void ForEachTerm(const Shape& shape, const std::vector<Operand<T>>& operands,
                 std::vector<int64_t>& offsets, Visit visit) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return;
  // Fifty operands of two elements each have 2^50 terms, so interrupts are checked.
  constexpr int64_t kBetweenChecks = 1 << 16;
  Shape index(shape.size(), 0);
  for (int64_t terms = 1;; ++terms) {
    if (terms % kBetweenChecks == 0 && Interrupted()) return;
    visit();
    int axis = static_cast<int>(shape.size()) - 1;
    for (; axis >= 0; --axis) {
      const bool wraps = ++index[axis] == shape[axis];
      for (size_t i = 0; i < operands.size(); ++i) {
        offsets[i] += operands[i].summed_strides[axis] * (wraps ? 1 - shape[axis] : 1);
      }
      if (!wraps) break;
      index[axis] = 0;
    }
    if (axis < 0) return;
  }
}

template <typename T>
absl::StatusOr<Tensor> Contract(const EinsumShape& shape, absl::Span<const Tensor> inputs,
                                Allocator& allocator) {
  ATTNRUN_ASSIGN_OR_RETURN(Tensor y,
                           Tensor::Allocate(DataTypeOf<T>(), shape.output_shape, allocator));
  std::vector<Operand<T>> operands;
  std::vector<std::vector<int64_t>> starts;
  for (size_t i = 0; i < inputs.size(); ++i) {
    ATTNRUN_ASSIGN_OR_RETURN(std::vector<T> values, Read(inputs[i], T()));
    operands.push_back({std::move(values),
                        LabelStrides(shape.operands[i], inputs[i].shape(), shape.output),
                        LabelStrides(shape.operands[i], inputs[i].shape(), shape.summed)});
    starts.push_back(Offsets(shape.output_shape, operands[i].output_strides));
  }
  Shape summed;
  for (const Label label : shape.summed) summed.push_back(shape.extent(label));
  std::vector<int64_t> offsets(inputs.size());
  for (int64_t element = 0; element < y.num_elements(); ++element) {
    for (size_t i = 0; i < inputs.size(); ++i) offsets[i] = starts[i][element];
    T sum = 0;
    ForEachTerm(summed, operands, offsets, [&] {
      T product = 1;
      for (size_t i = 0; i < inputs.size(); ++i) product *= operands[i].values[offsets[i]];
      sum += product;
    });
    y.mutable_data<T>()[element] = sum;
  }
  return y;
}

absl::Status CheckTypes(absl::Span<const Tensor> inputs) {
  const DataType type = inputs[0].type();
  const bool number = IsInteger(type)
                          ? BitWidth(type) >= 8
                          : type == DataType::kFloat || type == DataType::kDouble ||
                                type == DataType::kFloat16 || type == DataType::kBfloat16;
  for (const Tensor& input : inputs) {
    if (number && input.type() == type) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("expected operands of one number type, but found ", TypeAndShape(inputs[0]),
                     " and ", TypeAndShape(input)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Einsum::Reference(OpContext& context) const {
  std::vector<Tensor> inputs;
  std::vector<Shape> shapes;
  for (int i = 0; i < context.num_inputs(); ++i) {
    inputs.push_back(context.input(i));
    shapes.push_back(context.input(i).shape());
  }
  ATTNRUN_RETURN_IF_ERROR(CheckTypes(inputs));
  ATTNRUN_ASSIGN_OR_RETURN(const EinsumShape shape, ResolveEinsum(equation_, shapes));
  const DataType type = inputs[0].type();
  Allocator& allocator = context.allocator();
  Tensor y;
  if (IsFloatingPoint(type)) {
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor sums, Contract<double>(shape, inputs, allocator));
    ATTNRUN_ASSIGN_OR_RETURN(
        y, FromDoubles(type, shape.output_shape,
                       absl::MakeSpan(sums.data<double>(), sums.num_elements()), allocator));
  } else {
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor sums, Contract<uint64_t>(shape, inputs, allocator));
    ATTNRUN_ASSIGN_OR_RETURN(
        y, FromInts(type, shape.output_shape,
                    absl::MakeSpan(sums.data<int64_t>(), sums.num_elements()), allocator));
  }
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

}  // namespace attnrun::ops
