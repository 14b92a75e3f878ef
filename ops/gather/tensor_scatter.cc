// SPDX-License-Identifier: Apache-2.0
#include "ops/gather/tensor_scatter.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "core/status.h"
#include "ops/gather/cache_copy.h"
#include "ops/gather/scatter_reduction.h"
#include "ops/movement/strided_view.h"

namespace attnrun::ops {
namespace {

absl::Status ReadStarts(const OpContext& context, bool circular, CacheWrite& write) {
  const Tensor& cache = context.input(0);
  write.starts.assign(cache.dim(0), 0);
  if (!context.has_input(2)) return absl::OkStatus();
  const Tensor& starts = context.input(2);
  if (starts.type() != DataType::kInt64 || starts.rank() != 1 || starts.dim(0) != cache.dim(0)) {
    return absl::InvalidArgumentError(absl::StrCat("write_indices must be int64[", cache.dim(0),
                                                   "], but are ", TypeAndShape(starts)));
  }
  for (int64_t b = 0; b < cache.dim(0); ++b) {
    const int64_t start = starts.data<int64_t>()[b];
    if (start < 0 || (!circular && start > write.capacity - write.count)) {
      return absl::InvalidArgumentError(absl::StrCat("writing ", write.count, " positions from ",
                                                     start, " on does not fit the ", write.capacity,
                                                     " of cache ", TypeAndShape(cache)));
    }
    write.starts[b] = circular && write.capacity > 0 ? start % write.capacity : start;
  }
  return absl::OkStatus();
}

// Copies each row in two parts: up to the cache's end, and the part that wraps around.
class TensorScatterKernel final : public Kernel {
 public:
  TensorScatterKernel(int64_t axis, bool circular) : axis_(axis), circular_(circular) {}

  absl::string_view name() const override { return "copy"; }
  bool Accepts(const OpContext& context) const override { return MovesInputAsBytes(context); }

  absl::Status Run(OpContext& context) const override {
    const Tensor& cache = context.input(0);
    ATTNRUN_ASSIGN_OR_RETURN(const CacheWrite write, CheckCacheWrite(context, axis_, circular_));
    ATTNRUN_ASSIGN_OR_RETURN(const CacheCopy y, CacheCopy::Make(context));
    const int64_t position = write.inner * BitWidth(cache.type()) / 8;
    const char* from = context.input(1).data<char>();
    int64_t row = 0;
    if (context.input(1).num_elements() == 0) return absl::OkStatus();
    for (const int64_t start : write.starts) {
      const int64_t straight = std::min(write.count, write.capacity - start);
      for (int64_t i = 0; i < write.rows; ++i) {
        Copy(from, straight * position, y, row + start * position);
        Copy(from + straight * position, (write.count - straight) * position, y, row);
        from += write.count * position;
        row += write.capacity * position;
      }
    }
    return absl::OkStatus();
  }

 private:
  static void Copy(const char* from, int64_t bytes, const CacheCopy& to, int64_t offset) {
    if (bytes == 0) return;
    to.Overwrite(offset, bytes);
    std::memcpy(to.data() + offset, from, bytes);
  }

  const int64_t axis_;
  const bool circular_;
};

}  // namespace

absl::StatusOr<CacheWrite> CheckCacheWrite(const OpContext& context, int64_t axis, bool circular) {
  const Tensor& cache = context.input(0);
  const Tensor& update = context.input(1);
  CacheWrite write;
  ATTNRUN_ASSIGN_OR_RETURN(write.axis, NormalizeAxis(axis, cache.rank()));
  bool fits = write.axis > 0 && update.type() == cache.type() && update.rank() == cache.rank();
  for (int i = 0; fits && i < cache.rank(); ++i) {
    fits = i == write.axis ? update.dim(i) <= cache.dim(i) : update.dim(i) == cache.dim(i);
    if (i > 0 && i < write.axis) write.rows *= cache.dim(i);
    if (i > write.axis) write.inner *= cache.dim(i);
  }
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("update ", TypeAndShape(update),
                                                   " does not fit cache ", TypeAndShape(cache),
                                                   " along axis ", write.axis));
  }
  write.capacity = cache.dim(write.axis);
  write.count = update.dim(write.axis);
  ATTNRUN_RETURN_IF_ERROR(ReadStarts(context, circular, write));
  return write;
}

absl::Status TensorScatter::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(const CacheWrite write, CheckCacheWrite(context, axis_, circular_));
  const Tensor& update = context.input(1);
  std::vector<Update> list;
  for (int64_t i = 0; i < update.num_elements(); ++i) {
    const int64_t row = i / write.inner / write.count;
    const int64_t start = write.starts[row / write.rows];
    const int64_t position = (start + i / write.inner % write.count) % write.capacity;
    list.push_back({(row * write.capacity + position) * write.inner + i % write.inner, i});
  }
  return ApplyUpdates(context, ScatterReduction::kNone, context.input(0), update, list);
}

absl::StatusOr<std::unique_ptr<Kernel>> TensorScatter::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<TensorScatterKernel>(axis_, circular_);
}

}  // namespace attnrun::ops
