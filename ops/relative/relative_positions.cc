// SPDX-License-Identifier: Apache-2.0
#include "ops/relative/relative_positions.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "core/strided.h"
#include "ops/elementwise/broadcast_reference.h"
#include "ops/interface/infer_rules.h"

namespace attnrun::ops {
namespace {

// The shape [..., S, T] of all pairs.
absl::StatusOr<Shape> Resolve(const OpContext& context) {
  const Tensor& a = context.input(0);
  const Tensor& b = context.input(1);
  const bool integers = a.type() == DataType::kInt64 || a.type() == DataType::kInt32;
  ATTNRUN_ASSIGN_OR_RETURN(Shape pairs, BroadcastShapes(a.shape(), b.shape()));
  if (integers && a.type() == b.type() && pairs.size() >= 2) return pairs;
  return absl::InvalidArgumentError(
      absl::StrCat("expected int32 or int64 of one type that broadcast to rank 2 or more, but "
                   "found ",
                   TypeAndShape(a), " and ", TypeAndShape(b)));
}

// The shape [..., 1, S + T] of all distances, from that of all pairs.
Shape PerDistance(const Shape& pairs) {
  Shape shape = pairs;
  const size_t rank = shape.size();
  shape[rank - 1] += shape[rank - 2];
  shape[rank - 2] = 1;
  return shape;
}

// Subtracts one list of positions, such as a Range, from another.
class RelativePositionsKernel final : public Kernel {
 public:
  absl::string_view name() const override { return "fill"; }
  bool Accepts(const OpContext& context) const override {
    const absl::StatusOr<Shape> pairs = Resolve(context);
    if (!pairs.ok()) return false;
    const size_t rank = pairs->size();
    const int64_t count = (*pairs)[rank - 2] * (*pairs)[rank - 1];
    return count > 0 && NumElements(*pairs).value_or(0) == count;
  }

  absl::Status Run(OpContext& context) const override {
    ATTNRUN_ASSIGN_OR_RETURN(const Shape pairs, Resolve(context));
    return context.input(0).type() == DataType::kInt64 ? Fill<int64_t>(context, pairs)
                                                       : Fill<int32_t>(context, pairs);
  }

 private:
  template <typename T>
  static absl::Status Fill(OpContext& context, const Shape& pairs) {
    using Unsigned = std::make_unsigned_t<T>;
    const size_t rank = pairs.size();
    const int64_t queries = pairs[rank - 2];
    const int64_t keys = pairs[rank - 1];
    Shape shape = pairs;
    shape[rank - 2] = 1;
    shape[rank - 1] = queries + keys;
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, context.input(0).type(), shape));
    ATTNRUN_ASSIGN_OR_RETURN(const Shape a, BroadcastStrides(context.input(0).shape(), pairs));
    ATTNRUN_ASSIGN_OR_RETURN(const Shape b, BroadcastStrides(context.input(1).shape(), pairs));
    const auto set = [&](int64_t i, int64_t s, int64_t t) {
      // Wraps modulo 2^bits, as Sub does.
      const Unsigned of_a = context.input(0).data<T>()[s * a[rank - 2] + t * a[rank - 1]];
      const Unsigned of_b = context.input(1).data<T>()[s * b[rank - 2] + t * b[rank - 1]];
      y->mutable_data<T>()[i] = static_cast<T>(of_a - of_b);
    };
    set(0, queries - 1, 0);
    for (int64_t i = 1; i < queries; ++i) set(i, queries - i, 0);
    for (int64_t t = 0; t < keys; ++t) set(queries + t, 0, t);
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RelativePositions::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(const Shape pairs, Resolve(context));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> a, ToInts(context.input(0)));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> b, ToInts(context.input(1)));
  const std::vector<int64_t> of_a = Broadcast(a, context.input(0).shape(), pairs);
  const std::vector<int64_t> of_b = Broadcast(b, context.input(1).shape(), pairs);
  const int64_t queries = pairs[pairs.size() - 2];
  const int64_t keys = pairs[pairs.size() - 1];
  const Shape shape = PerDistance(pairs);
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t size, NumElements(shape));
  std::vector<int64_t> y(size, 0);
  for (int64_t i = 0; i < size && !of_a.empty(); ++i) {
    const int64_t sample = i / (queries + keys);
    const int64_t distance = i % (queries + keys) - queries;
    const int64_t s = std::clamp<int64_t>(-distance, 0, queries - 1);
    const int64_t t = std::max<int64_t>(distance, 0);
    const int64_t pair = (sample * queries + s) * keys + t;
    // Wraps modulo 2^64, as Sub does.
    y[i] =
        static_cast<int64_t>(static_cast<uint64_t>(of_a[pair]) - static_cast<uint64_t>(of_b[pair]));
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor out,
                           FromInts(context.input(0).type(), shape, y, context.allocator()));
  context.SetOutput(0, std::move(out));
  return absl::OkStatus();
}

void RelativePositions::Infer(InferContext& context) const {
  auto dims = BroadcastDims(context.input(0).dims, context.input(1).dims);
  if (dims.has_value() && dims->size() >= 2) {
    const size_t rank = dims->size();
    (*dims)[rank - 1] = (*dims)[rank - 2] + (*dims)[rank - 1];
    (*dims)[rank - 2] = 1;
  } else {
    dims.reset();
  }
  SetDims(context, 0, std::move(dims));
}

absl::StatusOr<std::unique_ptr<Kernel>> RelativePositions::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<RelativePositionsKernel>();
}

}  // namespace attnrun::ops
