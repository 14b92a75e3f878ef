// SPDX-License-Identifier: Apache-2.0
#include "ops/search/unique.h"

#include <algorithm>
#include <numeric>

#include "core/elements.h"
#include "core/status.h"
#include "ops/search/order.h"
#include "ops/tensors/element_copy.h"

namespace attnrun::ops {
namespace {

// The slices of X along an axis, compared element by element.
class Slices {
 public:
  Slices(const Tensor& x, int axis, std::vector<int64_t> keys)
      : keys_(std::move(keys)),
        length_(x.dim(axis)),
        step_(DenseStrides(x.shape())[axis]),
        size_(length_ > 0 ? x.num_elements() / length_ : 0) {}

  int64_t count() const { return length_; }
  // The number of elements of a slice, and the index of element k of slice i.
  int64_t size() const { return size_; }
  int64_t Position(int64_t i, int64_t k) const {
    return (k / step_ * length_ + i) * step_ + k % step_;
  }

  // Negative, 0 or positive if slice a is less than, equal to or greater than slice b.
  int Compare(int64_t a, int64_t b) const {
    for (int64_t k = 0; k < size_; ++k) {
      const int64_t key_a = keys_[Position(a, k)];
      const int64_t key_b = keys_[Position(b, k)];
      if (key_a != key_b) return key_a < key_b ? -1 : 1;
    }
    return 0;
  }

 private:
  std::vector<int64_t> keys_;
  int64_t length_;
  int64_t step_;
  int64_t size_;
};

// Outputs 1 to 3.
struct Groups {
  std::vector<int64_t> first;
  std::vector<int64_t> inverse;
  std::vector<int64_t> counts;
};

Groups GroupEqual(const Slices& slices, bool sorted) {
  std::vector<int64_t> order(slices.count());
  std::iota(order.begin(), order.end(), 0);
  // The sort is stable: within a group the first occurrence comes first.
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return slices.Compare(a, b) < 0; });
  Groups groups;
  groups.inverse.resize(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || slices.Compare(order[i - 1], order[i]) != 0) {
      groups.first.push_back(order[i]);
      groups.counts.push_back(0);
    }
    groups.inverse[order[i]] = static_cast<int64_t>(groups.first.size()) - 1;
    ++groups.counts.back();
  }
  if (sorted) return groups;
  // `ranks`: the groups by first occurrence.
  std::vector<int64_t> ranks(groups.first.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  std::sort(ranks.begin(), ranks.end(),
            [&](int64_t a, int64_t b) { return groups.first[a] < groups.first[b]; });
  Groups by_occurrence = groups;
  std::vector<int64_t> rank_of(ranks.size());
  for (size_t i = 0; i < ranks.size(); ++i) {
    by_occurrence.first[i] = groups.first[ranks[i]];
    by_occurrence.counts[i] = groups.counts[ranks[i]];
    rank_of[ranks[i]] = static_cast<int64_t>(i);
  }
  for (int64_t& group : by_occurrence.inverse) group = rank_of[group];
  return by_occurrence;
}

absl::Status SetInts(OpContext& context, int i, const std::vector<int64_t>& values) {
  if (!context.wants_output(i)) return absl::OkStatus();
  ATTNRUN_ASSIGN_OR_RETURN(Tensor tensor,
                           FromInts(DataType::kInt64, {static_cast<int64_t>(values.size())}, values,
                                    context.allocator()));
  context.SetOutput(i, std::move(tensor));
  return absl::OkStatus();
}

}  // namespace

absl::Status Unique::Reference(OpContext& context) const {
  Tensor x = context.input(0);
  if (!axis_.has_value()) {
    ATTNRUN_ASSIGN_OR_RETURN(x, x.Reshaped({x.num_elements()}));
  }
  ATTNRUN_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(axis_.value_or(0), x.rank()));
  ATTNRUN_ASSIGN_OR_RETURN(std::vector<int64_t> keys, OrderKeys(x));
  const Slices slices(x, axis, std::move(keys));
  // Slices without elements take no memory, but their groups do.
  ATTNRUN_RETURN_IF_ERROR(
      Tensor::Allocate(DataType::kInt64, {slices.count()}, context.allocator()).status());
  const Groups groups = GroupEqual(slices, sorted_);
  Shape shape = x.shape();
  const auto count = static_cast<int64_t>(groups.first.size());
  shape[axis] = count;
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, AllocateZeros(context, 0, x.type(), shape));
  const int64_t step = DenseStrides(shape)[axis];
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t k = 0; k < slices.size(); ++k) {
      CopyElement(x, slices.Position(groups.first[i], k), *y,
                  (k / step * count + i) * step + k % step);
    }
  }
  ATTNRUN_RETURN_IF_ERROR(SetInts(context, 1, groups.first));
  ATTNRUN_RETURN_IF_ERROR(SetInts(context, 2, groups.inverse));
  return SetInts(context, 3, groups.counts);
}

}  // namespace attnrun::ops
