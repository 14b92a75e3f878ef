// SPDX-License-Identifier: Apache-2.0
#include <complex>
#include <string>

#include "core/elements.h"
#include "core/status.h"
#include "ops/elementwise/broadcast_reference.h"
#include "ops/elementwise/where.h"
#include "ops/interface/type_set.h"

namespace attnrun::ops {
namespace {

constexpr TypeSet kTypes =
    kNumbers | kBools | kStrings | TypeSet{DataType::kComplex64, DataType::kComplex128};

// T is any type of the elements' width, as they are only moved.
template <typename T>
void Select(const std::vector<int64_t>& condition, const Tensor& x, const Tensor& y, Tensor& out) {
  const std::vector<int64_t> from_x = BroadcastIndices(x.shape(), out.shape());
  const std::vector<int64_t> from_y = BroadcastIndices(y.shape(), out.shape());
  T* result = out.mutable_data<T>();
  for (size_t i = 0; i < condition.size(); ++i) {
    result[i] = condition[i] != 0 ? x.data<T>()[from_x[i]] : y.data<T>()[from_y[i]];
  }
}

}  // namespace

absl::Status Where::Reference(OpContext& context) const {
  ATTNRUN_RETURN_IF_ERROR(CheckType(context, 0, kBools));
  ATTNRUN_RETURN_IF_ERROR(CheckType(context, 1, kTypes));
  ATTNRUN_RETURN_IF_ERROR(CheckSameType(context, 1, 2));
  ATTNRUN_ASSIGN_OR_RETURN(const Shape shape, BroadcastInputShapes(context));
  const Tensor& x = context.input(1);
  const Tensor& y = context.input(2);
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<int64_t> condition, ToInts(context.input(0)));
  condition = Broadcast(condition, context.input(0).shape(), shape);
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, x.type(), shape));
  if (x.type() == DataType::kString) {
    Select<std::string>(condition, x, y, *out);
  } else if (x.type() == DataType::kComplex128) {
    Select<std::complex<double>>(condition, x, y, *out);
  } else if (BitWidth(x.type()) == 64) {
    Select<uint64_t>(condition, x, y, *out);
  } else if (BitWidth(x.type()) == 32) {
    Select<uint32_t>(condition, x, y, *out);
  } else if (BitWidth(x.type()) == 16) {
    Select<uint16_t>(condition, x, y, *out);
  } else {
    Select<uint8_t>(condition, x, y, *out);
  }
  return absl::OkStatus();
}

}  // namespace attnrun::ops
