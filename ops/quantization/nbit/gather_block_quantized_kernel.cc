// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "core/div_ceil.h"
#include "core/elements.h"
#include "core/parallel.h"
#include "core/status.h"
#include "ops/quantization/nbit/codes.h"
#include "ops/quantization/nbit/gather_block_quantized.h"
#include "ops/tensors/float_operands.h"
#include "ops/tensors/float_rows.h"

namespace attnrun::ops {
namespace {

// Dequantizes only the rows that are asked for, one code at a time: few tokens read a table.
class GatherKernel final : public Kernel {
 public:
  explicit GatherKernel(const GatherBlockQuantized& op) : op_(op) {}

  absl::string_view name() const override { return "rows"; }

  // Accepts tables whose blocks lie along the rows: embeddings.
  bool Accepts(const OpContext& context) const override {
    const absl::StatusOr<GatherBlockQuantized::Layout> layout = op_.Resolve(context);
    return layout.ok() && layout->quantize_axis + 1 == layout->table.size() &&
           layout->inner % layout->table.back() == 0 && layout->table.back() > 0;
  }

  absl::Status Run(OpContext& context) const override {
    ATTNRUN_ASSIGN_OR_RETURN(const GatherBlockQuantized::Layout layout, op_.Resolve(context));
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> indices,
                             ToInts(context.input(GatherBlockQuantized::kIndices)));
    ATTNRUN_ASSIGN_OR_RETURN(
        FloatOutput y,
        FloatOutput::Allocate(context, 0, context.input(GatherBlockQuantized::kScales).type(),
                              layout.output));
    const int64_t length = layout.table.back();
    ParallelFor(y.num_elements() / length, 8192 / length + 1, [&](int64_t begin, int64_t end) {
      std::vector<float> scales(layout.scales.back());
      for (int64_t row = begin; row < end; ++row) {
        const std::optional<int64_t> source = layout.Source(row * length, indices);
        float* const to = y.data() + row * length;
        if (source.has_value()) {
          ReadRow(context, layout, *source / length, scales, to);
        } else {
          std::fill_n(to, length, 0.0F);
        }
      }
    });
    y.Store();
    return absl::OkStatus();
  }

 private:
  void ReadRow(const OpContext& context, const GatherBlockQuantized::Layout& layout, int64_t row,
               std::vector<float>& scales, float* to) const {
    const Tensor& data = context.input(GatherBlockQuantized::kData);
    const bool has_zeros = context.has_input(GatherBlockQuantized::kZeroPoints);
    const Tensor zeros = has_zeros ? context.input(GatherBlockQuantized::kZeroPoints) : data;
    const auto blocks = static_cast<int64_t>(scales.size());
    ReadFloats(context.input(GatherBlockQuantized::kScales), row * blocks, blocks, scales.data());
    const bool packed = data.type() == DataType::kUint8;
    const int bits = layout.bits;
    const int64_t padded = packed ? DivCeil(blocks * bits, 8) * 8 / bits : blocks;
    const int low = layout.is_signed ? 8 : 0;
    const auto number = [&](const Tensor& tensor, int64_t i) {
      // Extends the sign of four bits: 8 to 15 are -8 to -1.
      return (CodeAt(static_cast<const uint8_t*>(tensor.raw()), i, bits) ^ low) - low;
    };
    const int64_t length = layout.table.back();
    for (int64_t block = 0; block < blocks; ++block) {
      const int otherwise = packed ? 1 << (bits - 1) : 0;
      const int zero = has_zeros ? number(zeros, row * padded + block) : otherwise;
      const int64_t first = block * op_.block_size();
      for (int64_t j = first; j < std::min(first + op_.block_size(), length); ++j) {
        to[j] = static_cast<float>(number(data, row * length + j) - zero) * scales[block];
      }
    }
  }

  const GatherBlockQuantized op_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> GatherBlockQuantized::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<GatherKernel>(*this);
}

}  // namespace attnrun::ops
