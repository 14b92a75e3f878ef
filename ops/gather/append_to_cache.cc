// SPDX-License-Identifier: Apache-2.0
#include "ops/gather/append_to_cache.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/journal.h"
#include "core/room.h"
#include "core/status.h"
#include "ops/interface/infer_rules.h"
#include "ops/movement/strided_view.h"
#include "ops/tensors/element_copy.h"
#include "ops/tensors/strided_copy.h"

namespace attnrun::ops {
namespace {

// For each sample: copies the part of the past that is kept, then the update, then writes zeros.
class AppendToCacheKernel final : public Kernel {
 public:
  explicit AppendToCacheKernel(const AppendToCache& op) : op_(op) {}

  absl::string_view name() const override { return "copy"; }
  bool Accepts(const OpContext& context) const override { return MovesInputAsBytes(context); }
  bool accepts_strided() const override { return true; }

  absl::Status Run(OpContext& context) const override {
    ATTNRUN_ASSIGN_OR_RETURN(const CacheAppend append, op_.Resolve(context));
    const Tensor& past = context.input(0);
    if (append.only_appends()) {
      if (std::optional<Grown> grown = Grow(past, 2, append.count)) {
        const Tensor& update = context.input(1);
        CopyStrided(BitWidth(past.type()) / 8, update.shape(), update.raw(), StridesOf(update),
                    grown->added, StridesOf(grown->tensor));
        context.SetOutput(0, std::move(grown->tensor));
        return absl::OkStatus();
      }
    }
    if (Journal* const journal = past.is_dense() ? JournalOf(past) : nullptr;
        journal != nullptr && append.only_overwrites()) {
      Overwrite(context, append, *journal);
      return absl::OkStatus();
    }
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, past.type(), append.shape()));
    const int64_t width = BitWidth(past.type()) / 8;
    const int64_t row = append.size * width;
    char* sample = y->mutable_data<char>();
    for (int64_t b = 0; b < append.batch; ++b) {
      const int64_t dropped = append.dropped[b];
      const int64_t kept = std::clamp<int64_t>(append.starts[b] - dropped, 0, append.after);
      const int64_t skipped = std::max<int64_t>(dropped - append.starts[b], 0);
      const int64_t added = std::clamp<int64_t>(append.count - skipped, 0, append.after - kept);
      Copy(past, b, dropped, kept, append, sample);
      Copy(context.input(1), b, skipped, added, append, sample + kept * row);
      const int64_t end = kept + added;
      for (int64_t n = 0; n < append.heads && end < append.after; ++n) {
        std::memset(sample + (n * append.after + end) * row, 0, (append.after - end) * row);
      }
      sample += append.heads * append.after * row;
    }
    return absl::OkStatus();
  }

 private:
  // Writes the update, and zeros behind it, to a static cache.
  static void Overwrite(OpContext& context, const CacheAppend& append, Journal& journal) {
    const Tensor& past = context.input(0);
    const int64_t row = append.size * (BitWidth(past.type()) / 8);
    const int64_t zeros = journal.ZerosFrom(past.shape()).value_or(append.before);
    auto* const bytes = const_cast<char*>(past.data<char>());
    int64_t most = 0;
    for (int64_t b = 0; b < append.batch; ++b) {
      const int64_t end = append.starts[b] + append.count;
      const int64_t cleared = std::max<int64_t>(zeros - end, 0) * row;
      for (int64_t n = b * append.heads; n < (b + 1) * append.heads; ++n) {
        const int64_t first = (n * append.before + append.starts[b]) * row;
        journal.Save(first, append.count * row + cleared);
        std::memset(bytes + first + append.count * row, 0, cleared);
      }
      Copy(context.input(1), b, 0, append.count, append,
           bytes + (b * append.heads * append.before + append.starts[b]) * row);
      most = std::max(most, end);
    }
    journal.SetZerosFrom(past.shape(), most);
    context.SetOutput(0, past);
  }

  // Copies `count` positions, from `first` on, of all heads of sample b.
  static void Copy(const Tensor& from, int64_t b, int64_t first, int64_t count,
                   const CacheAppend& append, char* to) {
    if (count * append.heads * append.size == 0) return;
    const int width = BitWidth(from.type()) / 8;
    const Shape strides = StridesOf(from);
    CopyStrided(width, {append.heads, count, append.size},
                from.data<char>() + (b * strides[0] + first * strides[2]) * width,
                {strides[1], strides[2], strides[3]}, to,
                {append.after * append.size, append.size, 1});
  }

  const AppendToCache op_;
};

// The only element of an integer tensor. A decoder's lengths are read without memory for them.
absl::StatusOr<int64_t> OnlyInt(const Tensor& tensor) {
  if (tensor.type() == DataType::kInt64) return tensor.data<int64_t>()[0];
  if (tensor.type() == DataType::kInt32) return tensor.data<int32_t>()[0];
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> elements, ToInts(tensor));
  return elements[0];
}

// kInvalidArgument, with the input's name, unless `counts` is int64[B].
absl::Status CheckCounts(const Tensor& counts, int64_t batch, absl::string_view name) {
  if (counts.type() == DataType::kInt64 && counts.shape() == Shape{batch}) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("expected ", name, " to be int64[", batch,
                                                 "], but it is ", TypeAndShape(counts)));
}

}  // namespace

absl::StatusOr<CacheAppend> AppendToCache::Resolve(const OpContext& context) const {
  const Tensor& past = context.input(0);
  const Tensor& update = context.input(1);
  const Tensor& used = context.input(2);
  const Tensor& total = context.input(3);
  bool fits = past.rank() == 4 && update.rank() == 4 && past.type() == update.type();
  for (const int axis : {0, 1, 3}) fits = fits && past.dim(axis) == update.dim(axis);
  if (!fits || !IsInteger(total.type()) || total.num_elements() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected a cache and an update [B,N,_,H] of one type and an integer, but found ",
        TypeAndShape(past), ", ", TypeAndShape(update), " and ", TypeAndShape(total)));
  }
  if (past.dim(2) < room_) {
    return absl::InvalidArgumentError(absl::StrCat("expected a cache of at least ", room_,
                                                   " positions, but found ", TypeAndShape(past)));
  }
  ATTNRUN_RETURN_IF_ERROR(CheckCounts(used, past.dim(0), "used"));
  const bool drops = context.has_input(4);
  if (drops) ATTNRUN_RETURN_IF_ERROR(CheckCounts(context.input(4), past.dim(0), "dropped"));
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t length, OnlyInt(total));
  CacheAppend append{.batch = past.dim(0),
                     .heads = past.dim(1),
                     .before = past.dim(2),
                     .count = update.dim(2),
                     .after = drops ? length : std::max(past.dim(2), length),
                     .size = past.dim(3)};
  if (length < 0 || append.after > append.before + append.count) {
    return absl::InvalidArgumentError(absl::StrCat("expected at most ", append.before, " old and ",
                                                   append.count, " new positions, but found ",
                                                   length));
  }
  for (int64_t b = 0; b < append.batch; ++b) {
    const int64_t start = used.data<int64_t>()[b];
    const int64_t dropped = drops ? context.input(4).data<int64_t>()[b] : 0;
    const bool too_long = !drops && start > append.after - append.count;
    if (start < 0 || start > append.before || too_long || dropped < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("sample ", b, " has ", start, " positions before ", append.count,
                       " new ones, of which ", dropped, " are dropped, but the cache holds ",
                       append.before, ", and ", append.after, " with the new ones"));
    }
    append.starts.push_back(start);
    append.dropped.push_back(dropped);
  }
  return append;
}

absl::Status AppendToCache::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(const CacheAppend append, Resolve(context));
  const Tensor& past = context.input(0);
  ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, AllocateZeros(context, 0, past.type(), append.shape()));
  for (int64_t i = 0; i < y->num_elements(); ++i) {
    const int64_t row = i / append.size / append.after;
    const int64_t start = append.starts[row / append.heads];
    const int64_t dropped = append.dropped[row / append.heads];
    const int64_t t = i / append.size % append.after + std::min(dropped, start + append.count);
    if (t < start) {
      CopyElement(past, (row * append.before + t) * append.size + i % append.size, *y, i);
    } else if (t < start + append.count) {
      const int64_t added = row * append.count + t - start;
      CopyElement(context.input(1), added * append.size + i % append.size, *y, i);
    }
  }
  return absl::OkStatus();
}

void AppendToCache::Infer(InferContext& context) const {
  const Dims past = context.input(0).dims.value_or(UnknownDims(4));
  const Dims update = context.input(1).dims.value_or(UnknownDims(4));
  if (past.size() != 4 || update.size() != 4) return;
  for (const int axis : {0, 1, 3}) context.RequireEqual(past[axis], update[axis]);
  context.Require(past[2] - room_);
  SymInt after = SymInt::Unknown();
  const std::optional<SymInt> total = OnlyElement(context, 3);
  if (total.has_value() && context.has_input(4)) {
    after = *total;
  } else if (total.has_value()) {
    const bool grows = *total == past[2] + update[2];
    after = grows ? *total : SymInt::Opaque("max", past[2], *total);
    const std::optional<int64_t> before = past[2].constant();
    const std::optional<int64_t> length = total->constant();
    if (before.has_value() && length.has_value()) after = std::max(*before, *length);
  }
  SetDims(
      context, 0,
      Dims{Same(past[0], update[0]), Same(past[1], update[1]), after, Same(past[3], update[3])});
}

absl::StatusOr<std::unique_ptr<Kernel>> AppendToCache::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<AppendToCacheKernel>(*this);
}

}  // namespace attnrun::ops
