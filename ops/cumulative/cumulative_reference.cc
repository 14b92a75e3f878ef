// SPDX-License-Identifier: Apache-2.0
#include "core/elements.h"
#include "core/status.h"
#include "ops/cumulative/cumulative.h"
#include "ops/tensors/int_input.h"

namespace attnrun::ops {
namespace {

// The slices along one axis of a dense tensor. Position(s, j) is the index of element j of slice s.
struct Slices {
  int64_t count;
  int64_t length;
  int64_t step;

  int64_t Position(int64_t slice, int64_t j) const {
    return (slice / step * length + j) * step + slice % step;
  }
};

template <typename T>
T Combine(bool product, T a, T b) {
  return product ? a * b : a + b;
}

// Combines modulo 2^64, in unsigned arithmetic.
int64_t Combine(bool product, int64_t a, int64_t b) {
  return static_cast<int64_t>(
      Combine<uint64_t>(product, static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
}

template <typename T>
void Accumulate(std::vector<T>& values, const Slices& slices, bool product, bool exclusive,
                bool reverse) {
  for (int64_t slice = 0; slice < slices.count; ++slice) {
    T total = product ? 1 : 0;
    for (int64_t j = 0; j < slices.length; ++j) {
      T& value = values[slices.Position(slice, reverse ? slices.length - 1 - j : j)];
      const T before = total;
      total = Combine(product, total, value);
      value = exclusive ? before : total;
    }
  }
}

}  // namespace

absl::Status Cumulative::Reference(OpContext& context) const {
  const Tensor& x = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t wanted, ReadInt(context.input(1), "axis"));
  ATTNRUN_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(wanted, x.rank()));
  const int64_t length = x.dim(axis);
  const Slices slices = {length > 0 ? x.num_elements() / length : 0, length,
                         DenseStrides(x.shape())[axis]};
  Tensor y;
  if (IsInteger(x.type())) {
    ATTNRUN_ASSIGN_OR_RETURN(std::vector<int64_t> values, ToInts(x));
    Accumulate(values, slices, product_, exclusive_, reverse_);
    ATTNRUN_ASSIGN_OR_RETURN(y, FromInts(x.type(), x.shape(), values, context.allocator()));
  } else {
    ATTNRUN_ASSIGN_OR_RETURN(std::vector<double> values, ToDoubles(x));
    Accumulate(values, slices, product_, exclusive_, reverse_);
    ATTNRUN_ASSIGN_OR_RETURN(y, FromDoubles(x.type(), x.shape(), values, context.allocator()));
  }
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

}  // namespace attnrun::ops
