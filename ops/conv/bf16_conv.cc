// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/bf16_conv.h"

#include <algorithm>
#include <cstring>

#include "core/div_ceil.h"
#include "core/interrupt.h"
#include "core/parallel.h"
#include "core/status.h"
#include "ops/conv/conv_tiles.h"
#include "ops/conv/float_conv.h"
#include "ops/conv/window_reader.h"
#include "ops/gemm/amx_gemm.h"
#include "ops/gemm/gemm.h"
#include "ops/gemm/scratch.h"
#include "ops/tensors/half.h"

namespace attnrun::ops {
namespace {

// Appends numbers to one row of a block of A, [steps, 16, 64 bytes].
class BlockRow {
 public:
  BlockRow(uint8_t* block, int64_t row) : step_(block + row * kAmxStepBytes) {}

  // `from`: null for zeros.
  void Append(const uint16_t* from, int64_t count) {
    while (count > 0) {
      const int64_t some = std::min(count, kNumbers - used_);
      Write(from, some);
      if (from != nullptr) from += some;
      count -= some;
    }
  }

  // Fills the last step with zeros.
  void Finish() {
    if (used_ > 0) Write(nullptr, kNumbers - used_);
  }

 private:
  // Those of a step.
  static constexpr int64_t kNumbers = kAmxStepBytes / 2;

  void Write(const uint16_t* from, int64_t count) {
    auto* const to = step_ + 2 * used_;
    if (from == nullptr) {
      std::memset(to, 0, 2 * count);
    } else if (count == kNumbers) {
      std::memcpy(to, from, kAmxStepBytes);
    } else {
      std::memcpy(to, from, 2 * count);
    }
    used_ += count;
    if (used_ < kNumbers) return;
    used_ = 0;
    step_ += kAmxTileBytes;
  }

  uint8_t* step_;
  int64_t used_ = 0;
};

void Round(const float* x, int64_t count, uint16_t* to) { NarrowToBf16(x, count, to); }
void Round(const uint16_t* x, int64_t count, uint16_t* to) { std::copy_n(x, count, to); }

// Rounds x [positions, groups, channels] to [groups, positions, channels].
template <typename T>
void RoundImages(const T* x, int64_t positions, int64_t groups, int64_t channels, uint16_t* to) {
  constexpr int64_t kPiece = 1 << 14;
  const int64_t run = groups == 1 ? kPiece : channels;
  const int64_t runs = DivCeil(positions * groups * channels, run);
  ParallelFor(runs, DivCeil(kPiece, run), [&](int64_t begin, int64_t end) {
    if (groups == 1) {
      const int64_t last = std::min(end * run, positions * channels);
      return Round(x + begin * run, last - begin * run, to + begin * run);
    }
    for (int64_t i = begin; i < end; ++i) {
      Round(x + i * run, run, to + (i % groups * positions + i / groups) * run);
    }
  });
}

// Rounds an image [channels, positions] to [positions, channels].
void RoundTransposed(const float* x, int64_t channels, int64_t positions, uint16_t* to) {
  constexpr int64_t kAtOnce = 64;
  constexpr int64_t kLeastPerRange = 1 << 14;
  const int64_t grain = DivCeil(kLeastPerRange, channels * kAtOnce);
  ParallelFor(DivCeil(positions, kAtOnce), grain, [&](int64_t begin, int64_t end) {
    Scratch scratch;
    auto* const piece = scratch.AtLeast<float>(channels * kAtOnce);
    for (int64_t at = begin * kAtOnce; at < std::min(end * kAtOnce, positions); at += kAtOnce) {
      const int64_t count = std::min(kAtOnce, positions - at);
      TransposeTile(x + at, channels, count, positions, piece, channels);
      NarrowToBf16(piece, count * channels, to + at * channels);
    }
  });
}

}  // namespace

absl::StatusOr<std::unique_ptr<const Bf16Conv>> Bf16Conv::Make(const ConvWeights& weights,
                                                               const KernelContext& context) {
  constexpr int64_t kFewFeatures = 16;
  const bool is_int8 = context.precision == Precision::kInt8;
  KernelContext rounded = context;
  if (is_int8) rounded.precision = Precision::kBfloat16;
  const DataType stored = StoredConvType(context);
  const WeightFormat format = FormatFor(rounded.precision, stored);
  const int64_t features = weights.features / weights.groups;
  const int64_t depth = weights.channels * weights.taps;
  if (format != WeightFormat::kBfloat16Tiles || features < kFewFeatures || depth == 0) {
    return nullptr;
  }
  if (is_int8 && context.finer_reason != nullptr) *context.finer_reason = "convolution";
  // make_unique cannot call the private constructor.
  std::unique_ptr<Bf16Conv> conv(new Bf16Conv);
  for (int64_t group = 0; group < weights.groups; ++group) {
    ATTNRUN_ASSIGN_OR_RETURN(std::shared_ptr<const PackedMatrix> packed,
                             PackedMatrix::Pack(weights.TapsFirst(group), rounded, stored));
    conv->weights_.push_back(std::move(packed));
  }
  return conv;
}

absl::string_view Bf16Conv::name() const { return GemmName(weights_[0].get()); }

void Bf16Conv::Multiply(const ConvShape& shape, const uint16_t* x, IndexRange range,
                        const Ending& ending) const {
  const int64_t channels = shape.c / shape.group;
  const int64_t features = shape.m / shape.group;
  for (int64_t group = 0; group < shape.group; ++group) {
    const uint16_t* const images = x + group * shape.n * shape.input_size * channels;
    const int64_t first = group * features;
    const Bf16Output y = ending.y.From(first);
    Epilogue epilogue;
    epilogue.activation = ending.activation;
    if (ending.bias != nullptr) epilogue.bias = ending.bias + first;
    if (ending.residual != nullptr) {
      epilogue.residual = {ending.residual + first, range.size(), features, shape.m};
    }
    AmxGemm(
        range.size(), Bf16Tiles(*weights_[group]),
        [&](int64_t row, int64_t count, uint8_t* block) {
          WindowReader windows(shape.window, channels);
          for (int64_t i = 0; i < count; ++i) {
            BlockRow to(block, i);
            windows.Read(range.begin + row + i, [&](int64_t offset, int64_t run) {
              to.Append(offset < 0 ? nullptr : images + offset, run);
            });
            to.Finish();
          }
        },
        [&](const AmxSums& sums) {
          SumsBlock block = BlockOf(sums, y, epilogue);
          block.residual_first = ending.residual_first;
          return block;
        });
  }
}

absl::Status Bf16Conv::Run(const ConvShape& shape, const ChannelsLastOperands& operands,
                           const RoundedImages& rounded, Allocator& allocator) const {
  const int64_t positions = shape.n * shape.input_size;
  const int64_t channels = shape.c / shape.group;
  const uint16_t* images = rounded.x;
  Tensor x;
  if (rounded.x == nullptr || shape.group > 1) {
    ATTNRUN_ASSIGN_OR_RETURN(
        x, Tensor::Allocate(DataType::kBfloat16, {positions, shape.c}, allocator));
    auto* const to = x.mutable_data<uint16_t>();
    if (rounded.x != nullptr) {
      RoundImages(rounded.x, positions, shape.group, channels, to);
    } else {
      RoundImages(operands.x, positions, shape.group, channels, to);
    }
    images = to;
  }
  Multiply(shape, images, {0, shape.n * shape.output_size},
           {operands.bias,
            operands.residual,
            operands.residual_first,
            operands.activation,
            {operands.y, rounded.y, shape.m}});
  return absl::OkStatus();
}

absl::Status Bf16Conv::Run(const ConvShape& shape, const TiledConv::Operands& operands,
                           Allocator& allocator) const {
  // Bytes of a product, so that it is transposed from cache.
  constexpr int64_t kBytesAtOnce = 1 << 20;
  constexpr int64_t kLeastAtOnce = 512;
  const int64_t row_bytes = shape.m * static_cast<int64_t>(sizeof(float));
  const int64_t most =
      std::min(std::max(kBytesAtOnce / row_bytes, kLeastAtOnce), shape.output_size);
  const int64_t elements = shape.input_size * shape.c;
  ATTNRUN_ASSIGN_OR_RETURN(Tensor x, Tensor::Allocate(DataType::kBfloat16, {elements}, allocator));
  ATTNRUN_ASSIGN_OR_RETURN(Tensor product,
                           Tensor::Allocate(DataType::kFloat, {most, shape.m}, allocator));
  ConvShape one = shape;
  one.n = 1;
  const int64_t group_elements = elements / shape.group;
  for (int64_t image = 0; image < shape.n; ++image) {
    for (int64_t at = 0; at < elements; at += group_elements) {
      RoundTransposed(operands.x + image * elements + at, shape.c / shape.group, shape.input_size,
                      x.mutable_data<uint16_t>() + at);
    }
    float* const y = operands.y + image * shape.m * shape.output_size;
    for (int64_t at = 0; at < shape.output_size && !Interrupted(); at += most) {
      const int64_t count = std::min(most, shape.output_size - at);
      Ending ending;
      ending.bias = operands.bias;
      ending.y = {product.mutable_data<float>(), nullptr, shape.m};
      Multiply(one, x.data<uint16_t>(), {at, at + count}, ending);
      StoreFeatures(ending.y.floats, count, shape.m, y + at, shape.output_size);
    }
  }
  return absl::OkStatus();
}

}  // namespace attnrun::ops
