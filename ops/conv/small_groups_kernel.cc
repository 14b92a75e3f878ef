// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/small_groups_kernel.h"

#include <utility>

#include "core/parallel.h"
#include "core/status.h"
#include "ops/conv/convolution.h"
#include "ops/interface/optional_input.h"
#include "ops/tensors/bytes.h"

namespace attnrun::ops {
namespace {

// The least number of elements that a thread converts.
constexpr int64_t kLeastPerRange = 1 << 14;

template <typename T>
void WriteDifferences(const T* bytes, int64_t count, T zero, float* to) {
  ParallelFor(count, kLeastPerRange, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = static_cast<float>(bytes[i] - zero);
  });
}

// `count` bytes from `first` on, minus zero point `index`, or the only one; null: 0.
void WriteCentred(const Tensor& bytes, int64_t first, int64_t count, const Tensor* zero_points,
                  int64_t index, float* to) {
  uint8_t zero = 0;
  if (zero_points != nullptr) {
    zero = zero_points->data<uint8_t>()[zero_points->num_elements() == 1 ? 0 : index];
  }
  const uint8_t* const from = bytes.data<uint8_t>() + first;
  if (bytes.type() == DataType::kUint8) return WriteDifferences(from, count, zero, to + first);
  WriteDifferences(reinterpret_cast<const int8_t*>(from), count, static_cast<int8_t>(zero),
                   to + first);
}

class SmallGroupsKernel final : public Kernel {
 public:
  // `weight`: w minus its zero points.
  SmallGroupsKernel(const ConvAttributes& attributes, Tensor weight)
      : attributes_(attributes), weight_(std::move(weight)), convolution_(false) {}

  absl::string_view name() const override { return "exact in float"; }

  bool Accepts(const OpContext& context) const override {
    const Tensor& x = context.input(0);
    return IsByte(x.type()) && Resolve(context).ok() &&
           FitsZeroPoint(x, OptionalInput(context, 2), 1);
  }

  absl::Status Run(OpContext& context) const override {
    ATTNRUN_ASSIGN_OR_RETURN(const ConvShape shape, Resolve(context));
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, DataType::kInt32, shape.output));
    if (y->num_elements() == 0) return absl::OkStatus();
    Allocator& allocator = context.allocator();
    const Tensor& x = context.input(0);
    ATTNRUN_ASSIGN_OR_RETURN(Tensor image,
                             Tensor::Allocate(DataType::kFloat, x.shape(), allocator));
    WriteCentred(x, 0, x.num_elements(), OptionalInput(context, 2), 0, image.mutable_data<float>());
    ATTNRUN_ASSIGN_OR_RETURN(Tensor sums,
                             Tensor::Allocate(DataType::kFloat, shape.output, allocator));
    auto* const floats = sums.mutable_data<float>();
    ATTNRUN_RETURN_IF_ERROR(convolution_.Run(
        shape, {image.data<float>(), weight_.data<float>(), nullptr, floats}, allocator));
    auto* const to = y->mutable_data<int32_t>();
    ParallelFor(y->num_elements(), kLeastPerRange, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] = static_cast<int32_t>(floats[i]);
    });
    return absl::OkStatus();
  }

  int64_t Flops(const OpContext& context) const override {
    const absl::StatusOr<ConvShape> shape = Resolve(context);
    return shape.ok() ? shape->flops() : 0;
  }

 private:
  absl::StatusOr<ConvShape> Resolve(const OpContext& context) const {
    return ResolveConv(attributes_, context.input(0), context.input(1), nullptr);
  }

  const ConvAttributes attributes_;
  const Tensor weight_;
  const Convolution convolution_;
};

}  // namespace

bool SuitsSmallGroups(const Tensor& w, int64_t groups) {
  constexpr int64_t kNarrow = 8;
  constexpr int64_t kLargestProduct = 255 * 255;
  const int64_t products = w.num_elements() / w.dim(0);
  return groups > 1 && w.dim(0) / groups < kNarrow && w.dim(1) < kNarrow && products > 0 &&
         products <= (int64_t{1} << 24) / kLargestProduct;
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeSmallGroupsKernel(const ConvAttributes& attributes,
                                                              const Tensor& w,
                                                              const Tensor* zero_points) {
  ATTNRUN_ASSIGN_OR_RETURN(Tensor weight, Tensor::Allocate(DataType::kFloat, w.shape()));
  const int64_t size = w.num_elements() / w.dim(0);
  for (int64_t i = 0; i < w.dim(0); ++i) {
    WriteCentred(w, i * size, size, zero_points, i, weight.mutable_data<float>());
  }
  return std::make_unique<SmallGroupsKernel>(attributes, std::move(weight));
}

}  // namespace attnrun::ops
