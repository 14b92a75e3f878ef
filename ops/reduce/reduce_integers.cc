// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce/reduce_integers.h"

#include <algorithm>

namespace attnrun::ops {
namespace {

// `next` works on unsigned 64-bit numbers, whose sums and products may overflow.
template <typename T, typename Next>
void Run(const ReduceWalk& walk, const Tensor& x, Tensor& y, bool mean, Next next) {
  const T* in = x.data<T>();
  T* out = y.mutable_data<T>();
  constexpr int64_t kWidth = 64;
  ForEachReduction(
      walk, kWidth,
      [&](int64_t begin, absl::Span<const int64_t> offsets, int64_t run, int64_t output) {
        const int64_t outputs = walk.run_is_reduced ? 1 : run;
        const int64_t length = walk.run_is_reduced ? run : 1;
        const int64_t count = length * static_cast<int64_t>(offsets.size());
        for (int64_t column = 0; column < outputs; ++column) {
          const T* first = in + begin + column;
          int64_t total = first[offsets[0]];
          for (size_t k = 0; k < offsets.size(); ++k) {
            for (int64_t i = k == 0 ? 1 : 0; i < length; ++i) {
              total = next(total, static_cast<int64_t>(first[offsets[k] + i]));
            }
          }
          out[output + column] = static_cast<T>(mean ? total / count : total);
        }
      });
}

template <typename T>
void RunAs(Reduction reduction, const ReduceWalk& walk, const Tensor& x, Tensor& y) {
  switch (reduction) {
    case Reduction::kMax:
      return Run<T>(walk, x, y, false, [](int64_t a, int64_t b) { return std::max(a, b); });
    case Reduction::kMin:
      return Run<T>(walk, x, y, false, [](int64_t a, int64_t b) { return std::min(a, b); });
    case Reduction::kProd:
      return Run<T>(walk, x, y, false, [](int64_t a, int64_t b) {
        return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
      });
    default:
      return Run<T>(walk, x, y, reduction == Reduction::kMean, [](int64_t a, int64_t b) {
        return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
      });
  }
}

}  // namespace

bool ReducesIntegers(Reduction reduction, DataType type) {
  const bool covered = reduction == Reduction::kSum || reduction == Reduction::kMean ||
                       reduction == Reduction::kMax || reduction == Reduction::kMin ||
                       reduction == Reduction::kProd;
  return covered && (type == DataType::kInt32 || type == DataType::kInt64);
}

void ReduceIntegers(Reduction reduction, const ReduceWalk& walk, const Tensor& x, Tensor& y) {
  if (x.type() == DataType::kInt32) {
    RunAs<int32_t>(reduction, walk, x, y);
  } else {
    RunAs<int64_t>(reduction, walk, x, y);
  }
}

}  // namespace attnrun::ops
