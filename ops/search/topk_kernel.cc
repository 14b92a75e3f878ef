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

// An integer that is ordered as the number of 16 bits, where `infinity` is the pattern of that: NaN
// is the greatest, and both zeros are equal.
int32_t KeyOfHalf(uint16_t bits, int32_t infinity) {
  const int32_t magnitude = bits & 0x7FFF;
  if (magnitude > infinity) return infinity + 1;
  return bits == magnitude ? magnitude : -magnitude;
}

// The best k of the `length` elements that `at` gives, in order. `heap` is scratch space; its top
// is the worst of the best so far, so that most elements cost one comparison.
template <typename T, typename At>
void Select(const At& at, int64_t length, int64_t k, const Before<T>& before,
            std::vector<Candidate<T>>& heap) {
  heap.clear();
  for (int64_t i = 0; i < k; ++i) heap.push_back({at(i), i});
  std::make_heap(heap.begin(), heap.end(), before);
  for (int64_t i = k; i < length; ++i) {
    const T value = at(i);
    if (!before.IsAhead(value, heap.front().value)) continue;
    std::pop_heap(heap.begin(), heap.end(), before);
    heap.back() = {value, i};
    std::push_heap(heap.begin(), heap.end(), before);
  }
  std::sort_heap(heap.begin(), heap.end(), before);
}

// As Select, for a k so small that a sorted list is faster than a heap.
template <typename T, typename At>
void SelectFew(const At& at, int64_t length, int64_t k, const Before<T>& before,
               std::vector<Candidate<T>>& list) {
  list.resize(k);
  for (int64_t i = 0; i < length; ++i) {
    const T value = at(i);
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
    return type == DataType::kFloat || type == DataType::kFloat16 || type == DataType::kBfloat16 ||
           type == DataType::kInt64 || type == DataType::kInt32;
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
    const auto same = [](auto number) { return number; };
    switch (x.type()) {
      case DataType::kFloat:
        SelectAll<float>(x, axis, k, same, *values, *indices);
        break;
      case DataType::kFloat16:
      case DataType::kBfloat16: {
        const int32_t infinity = x.type() == DataType::kFloat16 ? 0x7C00 : 0x7F80;
        const auto key = [=](uint16_t bits) { return KeyOfHalf(bits, infinity); };
        SelectAll<uint16_t>(x, axis, k, key, *values, *indices);
        break;
      }
      case DataType::kInt64:
        SelectAll<int64_t>(x, axis, k, same, *values, *indices);
        break;
      default:
        SelectAll<int32_t>(x, axis, k, same, *values, *indices);
        break;
    }
    return absl::OkStatus();
  }

 private:
  // Elements are ordered as their keys.
  template <typename T, typename KeyOf>
  void SelectAll(const Tensor& x, int axis, int64_t k, const KeyOf& key_of, Tensor& values,
                 Tensor& indices) const {
    using Key = decltype(key_of(T{}));
    const Before<Key> before(op_.largest());
    const int64_t step = DenseStrides(x.shape())[axis];
    const int64_t length = x.dim(axis);
    const T* from = static_cast<const T*>(x.raw());
    T* to = static_cast<T*>(values.mutable_raw());
    int64_t* to_index = indices.mutable_data<int64_t>();
    constexpr int64_t kElementsPerPiece = 16384;
    constexpr int64_t kFew = 8;
    ParallelFor(values.num_elements() / k, kElementsPerPiece / length + 1,
                [&](int64_t begin, int64_t end) {
                  std::vector<Candidate<Key>> best;
                  for (int64_t slice = begin; slice < end; ++slice) {
                    const int64_t outer = slice / step;
                    const int64_t inner = slice % step;
                    const T* const start = from + outer * length * step + inner;
                    const auto at = [&](int64_t i) { return key_of(start[i * step]); };
                    if (k <= kFew) {
                      SelectFew(at, length, k, before, best);
                    } else {
                      Select(at, length, k, before, best);
                    }
                    for (int64_t j = 0; j < k; ++j) {
                      to[(outer * k + j) * step + inner] = start[best[j].index * step];
                      to_index[(outer * k + j) * step + inner] = best[j].index;
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
