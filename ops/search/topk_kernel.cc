// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/parallel.h"
#include "core/status.h"
#include "ops/search/topk.h"

namespace attnrun::ops {
namespace {

// An element and its index.
template <typename T>
struct Candidate {
  T value;
  int64_t index;
};

// True if a comes before b in the result.
template <typename T>
class Before {
 public:
  explicit Before(bool largest) : largest_(largest) {}

  bool operator()(const Candidate<T>& a, const Candidate<T>& b) const {
    if (IsAhead(a.value, b.value)) return true;
    return !IsAhead(b.value, a.value) && a.index < b.index;
  }
  // Compares values alone; NaN is greater than every number.
  bool IsAhead(T a, T b) const {
    if (largest_) return a > b || (IsNan(a) && !IsNan(b));
    return a < b || (IsNan(b) && !IsNan(a));
  }

 private:
  static bool IsNan(T value) { return value != value; }

  const bool largest_;
};

// The best k of `length` elements `step` apart, in order. `heap` is scratch space; its top is the
// worst of the best so far, so that most elements cost one comparison.
template <typename T>
void Select(const T* x, int64_t length, int64_t step, int64_t k, const Before<T>& before,
            std::vector<Candidate<T>>& heap) {
  heap.clear();
  for (int64_t i = 0; i < k; ++i) heap.push_back({x[i * step], i});
  std::make_heap(heap.begin(), heap.end(), before);
  for (int64_t i = k; i < length; ++i) {
    const T value = x[i * step];
    if (!before.IsAhead(value, heap.front().value)) continue;
    std::pop_heap(heap.begin(), heap.end(), before);
    heap.back() = {value, i};
    std::push_heap(heap.begin(), heap.end(), before);
  }
  std::sort_heap(heap.begin(), heap.end(), before);
}

// As Select, for a k so small that a sorted list is faster than a heap.
template <typename T>
void SelectFew(const T* x, int64_t length, int64_t step, int64_t k, const Before<T>& before,
               std::vector<Candidate<T>>& list) {
  list.resize(k);
  for (int64_t i = 0; i < length; ++i) {
    const T value = x[i * step];
    if (i >= k && !before.IsAhead(value, list.back().value)) continue;
    int64_t place = std::min(i, k - 1);
    // The first of equal elements stays ahead.
    for (; place > 0 && before.IsAhead(value, list[place - 1].value); --place) {
      list[place] = list[place - 1];
    }
    list[place] = {value, i};
  }
}

class TopKKernel final : public Kernel {
 public:
  explicit TopKKernel(TopK op) : op_(std::move(op)) {}

  absl::string_view name() const override { return "heap"; }
  bool Accepts(const OpContext& context) const override {
    const DataType type = context.input(0).type();
    return type == DataType::kFloat || type == DataType::kInt64 || type == DataType::kInt32;
  }

  absl::Status Run(OpContext& context) const override {
    const Tensor& x = context.input(0);
    ATTNRUN_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(op_.axis(), x.rank()));
    ATTNRUN_ASSIGN_OR_RETURN(const int64_t k, op_.Count(context, axis));
    Shape shape = x.shape();
    shape[axis] = k;
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * values, context.AllocateOutput(0, x.type(), shape));
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * indices, context.AllocateOutput(1, DataType::kInt64, shape));
    if (values->num_elements() == 0) return absl::OkStatus();
    switch (x.type()) {
      case DataType::kFloat:
        SelectAll<float>(x, axis, k, *values, *indices);
        break;
      case DataType::kInt64:
        SelectAll<int64_t>(x, axis, k, *values, *indices);
        break;
      default:
        SelectAll<int32_t>(x, axis, k, *values, *indices);
        break;
    }
    return absl::OkStatus();
  }

 private:
  template <typename T>
  void SelectAll(const Tensor& x, int axis, int64_t k, Tensor& values, Tensor& indices) const {
    const Before<T> before(op_.largest());
    const int64_t step = DenseStrides(x.shape())[axis];
    const int64_t length = x.dim(axis);
    const T* from = x.data<T>();
    T* to = values.mutable_data<T>();
    int64_t* to_index = indices.mutable_data<int64_t>();
    constexpr int64_t kElementsPerPiece = 16384;
    constexpr int64_t kFew = 8;
    ParallelFor(values.num_elements() / k, kElementsPerPiece / length + 1,
                [&](int64_t begin, int64_t end) {
                  std::vector<Candidate<T>> heap;
                  for (int64_t slice = begin; slice < end; ++slice) {
                    const int64_t outer = slice / step;
                    const int64_t inner = slice % step;
                    const T* const start = from + outer * length * step + inner;
                    if (k <= kFew) {
                      SelectFew(start, length, step, k, before, heap);
                    } else {
                      Select(start, length, step, k, before, heap);
                    }
                    for (int64_t j = 0; j < k; ++j) {
                      to[(outer * k + j) * step + inner] = heap[j].value;
                      to_index[(outer * k + j) * step + inner] = heap[j].index;
                    }
                  }
                });
  }

  const TopK op_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> TopK::MakeKernel(const KernelContext& /*context*/) const {
  return std::make_unique<TopKKernel>(*this);
}

}  // namespace attnrun::ops
