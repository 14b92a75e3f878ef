// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/div_ceil.h"
#include "core/interrupt.h"
#include "core/parallel.h"
#include "core/status.h"
#include "ops/conv/conv.h"
#include "ops/conv/small_groups_kernel.h"
#include "ops/conv/window_reader.h"
#include "ops/gemm/int8_gemm.h"
#include "ops/interface/optional_input.h"
#include "ops/tensors/bytes.h"
#include "ops/tensors/transpose_tile.h"

namespace attnrun::ops {
namespace {

using IntegerWeights = std::vector<std::shared_ptr<const Int8Panels>>;
using Pack =
    absl::FunctionRef<absl::StatusOr<std::shared_ptr<const Int8Panels>>(const Int8Matrix& matrix)>;

// Packs w [M, C/group, ..], minus its zero points (null: none), as one matrix [depth, features] per
// group. Rows have the order of a window's elements in a channels-last image: all channels of a tap
// lie together.
absl::StatusOr<IntegerWeights> PackWeights(const Tensor& w, const Tensor* zero_point,
                                           int64_t groups, Pack pack) {
  const int64_t features = w.dim(0) / groups;
  const int64_t depth = features == 0 ? 0 : w.num_elements() / w.dim(0);
  const int64_t channels = w.dim(1);
  const int64_t taps = channels == 0 ? 0 : depth / channels;
  IntegerWeights weights;
  for (int64_t group = 0; group < groups; ++group) {
    const Tensor values =
        w.View({taps, channels, features}, {1, taps, depth}, group * features * depth);
    Int8Matrix matrix = {&values, 0, depth, features, zero_point};
    Tensor zeros;
    if (zero_point != nullptr && zero_point->num_elements() > 1) {
      zeros = zero_point->View({features}, {1}, group * features);
      matrix.zero_points = &zeros;
    }
    ATTNRUN_ASSIGN_OR_RETURN(std::shared_ptr<const Int8Panels> packed, pack(matrix));
    weights.push_back(std::move(packed));
  }
  return weights;
}

// to[column][row] = from[row][column], elements of `width` bytes; rows of `to` are `stride`
// elements apart. On all threads.
void Transposed(int width, int64_t rows, int64_t columns, const void* from, void* to,
                int64_t stride) {
  constexpr int64_t kAtOnce = 64;
  constexpr int64_t kLeastPerRange = 1 << 14;
  const auto* const source = static_cast<const char*>(from);
  auto* const target = static_cast<char*>(to);
  const int64_t grain = DivCeil(kLeastPerRange, std::max<int64_t>(rows * kAtOnce * width, 1));
  ParallelFor(DivCeil(columns, kAtOnce), grain, [&](int64_t begin, int64_t end) {
    const int64_t first = begin * kAtOnce;
    const int64_t last = std::min(end * kAtOnce, columns);
    TransposeMatrix(width, rows, last - first, source + first * width, columns * width,
                    target + first * stride * width, stride * width);
  });
}

// Writes window `index` of a group's channels of an image, channels last. The padding reads as
// `padding`.
void WriteWindow(const SlidingWindow& window, int64_t channels, const uint8_t* image,
                 uint8_t padding, int64_t index, uint8_t* to) {
  WindowReader reader(window, channels);
  reader.Read(index, [&](int64_t offset, int64_t count) {
    if (offset < 0) {
      std::memset(to, padding, count);
    } else {
      std::memcpy(to, image + offset, count);
    }
    to += count;
  });
}

// For every image and group, multiplies the windows, some positions at a time, by the group's
// weights.
class ConvIntegerKernel final : public Kernel {
 public:
  // `weights`: packed, minus their zero points, if both are constant, else empty.
  ConvIntegerKernel(const ConvAttributes& attributes, IntegerWeights weights)
      : attributes_(attributes), weights_(std::move(weights)) {}

  absl::string_view name() const override {
    return Int8GemmName(weights_.empty() ? nullptr : weights_[0].get());
  }

  bool Accepts(const OpContext& context) const override {
    const Tensor& x = context.input(0);
    const Tensor& w = context.input(1);
    const absl::StatusOr<ConvShape> shape = Resolve(context);
    return IsByte(x.type()) && IsByte(w.type()) && shape.ok() &&
           FitsZeroPoint(x, OptionalInput(context, 2), 1) &&
           FitsZeroPoint(w, OptionalInput(context, 3), shape->m);
  }

  absl::Status Run(OpContext& context) const override {
    ATTNRUN_ASSIGN_OR_RETURN(const ConvShape shape, Resolve(context));
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, DataType::kInt32, shape.output));
    if (y->num_elements() == 0) return absl::OkStatus();
    IntegerWeights weights = weights_;
    if (weights.empty()) {
      const auto pack = [&](const Int8Matrix& matrix) {
        return Int8Panels::Pack({matrix}, context.allocator());
      };
      ATTNRUN_ASSIGN_OR_RETURN(
          weights, PackWeights(context.input(1), OptionalInput(context, 3), shape.group, pack));
    }
    const int64_t features = shape.m / shape.group;
    for (int64_t i = 0; i < shape.n * shape.group; ++i) {
      int32_t* const to = y->mutable_data<int32_t>() + i * features * shape.output_size;
      ATTNRUN_RETURN_IF_ERROR(Convolve(context, shape, i, *weights[i % shape.group], to));
    }
    return absl::OkStatus();
  }

  int64_t Flops(const OpContext& context) const override {
    const absl::StatusOr<ConvShape> shape = Resolve(context);
    return shape.ok() ? shape->flops() : 0;
  }

 private:
  // Bytes of sums that are computed at once, and then transposed from cache.
  static constexpr int64_t kBytesOfSums = 1 << 19;

  absl::StatusOr<ConvShape> Resolve(const OpContext& context) const {
    return ResolveConv(attributes_, context.input(0), context.input(1), nullptr);
  }

  // Images and groups are the outermost axes, so the i-th (image, group) pair reads the i-th run of
  // channels.
  static absl::Status Convolve(const OpContext& context, const ConvShape& shape, int64_t i,
                               const Int8Panels& weights, int32_t* y) {
    const Tensor& x = context.input(0);
    const Tensor* const zero_point = OptionalInput(context, 2);
    // The zero point's bits, which padding elements get, too.
    const uint8_t zero = zero_point == nullptr ? 0 : *zero_point->data<uint8_t>();
    const int32_t centre =
        x.type() == DataType::kInt8 ? static_cast<int8_t>(zero) : static_cast<int32_t>(zero);
    const int64_t channels = shape.c / shape.group;
    const uint8_t* image = x.data<uint8_t>() + i * channels * shape.input_size;
    Tensor channels_last;
    if (channels > 1 && shape.input_size > 1) {
      ATTNRUN_ASSIGN_OR_RETURN(
          channels_last,
          Tensor::Allocate(x.type(), {shape.input_size, channels}, context.allocator()));
      Transposed(1, channels, shape.input_size, image, channels_last.mutable_raw(), channels);
      image = channels_last.data<uint8_t>();
    }
    const int64_t features = shape.m / shape.group;
    const int64_t row_bytes = features * static_cast<int64_t>(sizeof(int32_t));
    const int64_t most =
        std::min(std::max<int64_t>(kBytesOfSums / row_bytes, 64), shape.output_size);
    ATTNRUN_ASSIGN_OR_RETURN(
        Tensor product, Tensor::Allocate(DataType::kInt32, {most, features}, context.allocator()));
    for (int64_t begin = 0; begin < shape.output_size && !Interrupted(); begin += most) {
      const int64_t count = std::min(most, shape.output_size - begin);
      Int8Epilogue out;
      out.sums = product.mutable_data<int32_t>();
      const auto write = [&](int64_t row, uint8_t* to) {
        WriteWindow(shape.window, channels, image, zero, begin + row, to);
      };
      Int8Gemm({x.type(), count, channels * shape.kernel_size, centre, write}, weights, out);
      Transposed(sizeof(int32_t), count, features, out.sums, y + begin, shape.output_size);
    }
    return absl::OkStatus();
  }

  const ConvAttributes attributes_;
  const IntegerWeights weights_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> ConvInteger::MakeKernel(
    const KernelContext& context) const {
  IntegerWeights weights;
  const Tensor& w = context.constants[1];
  // An undefined zero point may differ from run to run.
  const bool has_zero = context.constants.size() > 3;
  const bool constant = w.defined() && (!has_zero || context.constants[3].defined());
  const int64_t groups = attributes_.group;
  if (constant && IsByte(w.type()) && w.rank() > 2 && groups > 0 && w.dim(0) > 0 &&
      w.dim(0) % groups == 0 &&
      FitsZeroPoint(w, has_zero ? &context.constants[3] : nullptr, w.dim(0))) {
    if (SuitsSmallGroups(w, groups)) {
      return MakeSmallGroupsKernel(attributes_, w, has_zero ? &context.constants[3] : nullptr);
    }
    const auto pack = [&](const Int8Matrix& matrix) {
      return Int8Panels::PackShared({matrix}, context.packed_store);
    };
    ATTNRUN_ASSIGN_OR_RETURN(
        weights, PackWeights(w, has_zero ? &context.constants[3] : nullptr, groups, pack));
  }
  return std::make_unique<ConvIntegerKernel>(attributes_, std::move(weights));
}

}  // namespace attnrun::ops
