// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "core/div_ceil.h"
#include "core/parallel.h"
#include "core/status.h"
#include "ops/cumulative/cumulative.h"
#include "ops/tensors/int_input.h"

namespace attnrun::ops {
namespace {

// Sums int64, int32 and float. Floats are summed in double, which keeps long sums exact enough.
class CumSumKernel final : public Kernel {
 public:
  CumSumKernel(bool exclusive, bool reverse) : exclusive_(exclusive), reverse_(reverse) {}

  absl::string_view name() const override { return "scan"; }
  bool Accepts(const OpContext& context) const override {
    const DataType type = context.input(0).type();
    return type == DataType::kInt64 || type == DataType::kInt32 || type == DataType::kFloat;
  }

  absl::Status Run(OpContext& context) const override {
    const Tensor& x = context.input(0);
    ATTNRUN_ASSIGN_OR_RETURN(const int64_t wanted, ReadInt(context.input(1), "axis"));
    ATTNRUN_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(wanted, x.rank()));
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, x.type(), x.shape(), {0}));
    if (x.num_elements() == 0) return absl::OkStatus();
    const int64_t step = DenseStrides(x.shape())[axis];
    switch (x.type()) {
      case DataType::kInt64:
        Sum<uint64_t, uint64_t>(x, *y, x.dim(axis), step);
        break;
      case DataType::kInt32:
        Sum<uint32_t, uint32_t>(x, *y, x.dim(axis), step);
        break;
      default:
        Sum<float, double>(x, *y, x.dim(axis), step);
        break;
    }
    return absl::OkStatus();
  }

 private:
  // Sums slices of `length` elements `step` apart. Integers are summed as unsigned numbers, whose
  // overflow is defined.
  template <typename T, typename Total>
  void Sum(const Tensor& x, Tensor& y, int64_t length, int64_t step) const {
    const T* from = static_cast<const T*>(x.raw());
    T* to = static_cast<T*>(y.mutable_raw());
    constexpr int64_t kElementsPerPiece = 16384;
    // Slices that lie side by side are summed together, so that rows are read as they lie.
    const int64_t columns = std::min(step, kColumns);
    const int64_t blocks = DivCeil(step, columns);
    ParallelFor(x.num_elements() / length / step * blocks,
                kElementsPerPiece / (length * columns) + 1, [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    const int64_t column = i % blocks * columns;
                    const int64_t first = i / blocks * length * step + column;
                    if (step == 1) {
                      SumSlice<T, Total>(from + first, to + first, length);
                      continue;
                    }
                    SumColumns<T, Total>(from + first, to + first, length, step,
                                         std::min(columns, step - column));
                  }
                });
  }

  static constexpr int64_t kColumns = 128;

  template <typename T, typename Total>
  void SumSlice(const T* from, T* to, int64_t length) const {
    Total total = 0;
    for (int64_t j = 0; j < length; ++j) {
      const int64_t i = reverse_ ? length - 1 - j : j;
      const Total next = total + static_cast<Total>(from[i]);
      to[i] = static_cast<T>(exclusive_ ? total : next);
      total = next;
    }
  }

  // Sums `columns` <= kColumns slices side by side.
  template <typename T, typename Total>
  void SumColumns(const T* from, T* to, int64_t length, int64_t step, int64_t columns) const {
    std::array<Total, kColumns> totals;
    std::fill_n(totals.begin(), columns, Total{0});
    for (int64_t j = 0; j < length; ++j) {
      const int64_t row = (reverse_ ? length - 1 - j : j) * step;
      if (exclusive_) {
        // An element of the input may be overwritten by that of the output.
        for (int64_t c = 0; c < columns; ++c) {
          const Total before = totals[c];
          totals[c] += static_cast<Total>(from[row + c]);
          to[row + c] = static_cast<T>(before);
        }
      } else {
        for (int64_t c = 0; c < columns; ++c) {
          totals[c] += static_cast<Total>(from[row + c]);
          to[row + c] = static_cast<T>(totals[c]);
        }
      }
    }
  }

  const bool exclusive_;
  const bool reverse_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> Cumulative::MakeKernel(
    const KernelContext& /*context*/) const {
  if (product_) return nullptr;
  return std::make_unique<CumSumKernel>(exclusive_, reverse_);
}

}  // namespace attnrun::ops
