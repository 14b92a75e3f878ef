// SPDX-License-Identifier: Apache-2.0
#include "ops/quantization/nbit/dequantize_bnb4.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/div_ceil.h"
#include "core/elements.h"
#include "core/parallel.h"
#include "core/status.h"
#include "ops/tensors/float_rows.h"

namespace attnrun::ops {
namespace {

constexpr std::array<float, 16> kFp4 = {
    0, 5.208333333e-03F,  2.0F / 3,  1,  1.0F / 3,  0.5F,  1.0F / 6,  0.25F,
    0, -5.208333333e-03F, -2.0F / 3, -1, -1.0F / 3, -0.5F, -1.0F / 6, -0.25F};
constexpr std::array<float, 16> kNf4 = {-1.0F,
                                        -0.6961928009986877F,
                                        -0.5250730514526367F,
                                        -0.39491748809814453F,
                                        -0.28444138169288635F,
                                        -0.18477343022823334F,
                                        -0.09105003625154495F,
                                        0.0F,
                                        0.07958029955625534F,
                                        0.16093020141124725F,
                                        0.24611230194568634F,
                                        0.33791524171829224F,
                                        0.44070982933044434F,
                                        0.5626170039176941F,
                                        0.7229568362236023F,
                                        1.0F};

int HighBitsFirst(const uint8_t* codes, int64_t i) {
  return i % 2 == 0 ? codes[i / 2] >> 4 : codes[i / 2] & 15;
}

class DequantizeBnb4Kernel final : public Kernel {
 public:
  explicit DequantizeBnb4Kernel(const DequantizeBnb4& op) : op_(op) {}

  absl::string_view name() const override { return "table"; }
  bool Accepts(const OpContext& /*context*/) const override { return true; }

  absl::Status Run(OpContext& context) const override {
    ATTNRUN_ASSIGN_OR_RETURN(const Shape shape, op_.Resolve(context));
    const auto* const codes = context.input(0).data<uint8_t>();
    const Tensor& absmax = context.input(1);
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * w, context.AllocateOutput(0, absmax.type(), shape));
    const int64_t size = op_.block_size();
    return ParallelForWithScratch(
        absmax.num_elements(), 1, size, context.allocator(),
        [&](int64_t begin, int64_t end, float* scratch) {
          for (int64_t block = begin; block < end; ++block) {
            float factor = 0;
            ReadFloats(absmax, block, 1, &factor);
            const int64_t first = block * size;
            const int64_t count = std::min(size, w->num_elements() - first);
            for (int64_t i = 0; i < count; ++i) {
              scratch[i] = op_.table()[HighBitsFirst(codes, first + i)] * factor;
            }
            WriteFloats(scratch, count, *w, first);
          }
        });
  }

 private:
  const DequantizeBnb4 op_;
};

}  // namespace

DequantizeBnb4::DequantizeBnb4(AttributeReader& attributes)
    : k_(attributes.Required<int64_t>("K")),
      n_(attributes.Required<int64_t>("N")),
      block_size_(attributes.Required<int64_t>("block_size")),
      quant_type_(attributes.Required<int64_t>("quant_type")) {}

const float* DequantizeBnb4::table() const { return (quant_type_ == 0 ? kFp4 : kNf4).data(); }

absl::StatusOr<Shape> DequantizeBnb4::Resolve(const OpContext& context) const {
  constexpr int64_t kLargestBlock = 1 << 16;
  if (quant_type_ != 0 && quant_type_ != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected quant_type to be 0 (FP4) or 1 (NF4), but it is ", quant_type_));
  }
  if (k_ < 1 || n_ < 1 || block_size_ < 1 || block_size_ > kLargestBlock) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected K and N of at least 1 and a block_size from 1 to ", kLargestBlock,
                     ", but they are ", k_, ", ", n_, " and ", block_size_));
  }
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t count, NumElements({n_, k_}));
  const Tensor& codes = context.input(0);
  const Tensor& absmax = context.input(1);
  if (codes.type() != DataType::kUint8 || codes.num_elements() != DivCeil(count, int64_t{2})) {
    return absl::InvalidArgumentError(absl::StrCat("expected B to be uint8[", count / 2 + count % 2,
                                                   "], but it is ", TypeAndShape(codes)));
  }
  const int64_t blocks = DivCeil(count, block_size_);
  if (!IsFloatOrHalf(absmax.type()) || absmax.num_elements() != blocks) {
    return absl::InvalidArgumentError(absl::StrCat("expected absmax to be floats [", blocks,
                                                   "], but it is ", TypeAndShape(absmax)));
  }
  return Shape{n_, k_};
}

absl::Status DequantizeBnb4::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(const Shape shape, Resolve(context));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> absmax, ToDoubles(context.input(1)));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<int64_t> bytes, ToInts(context.input(0)));
  std::vector<double> w(n_ * k_);
  for (size_t i = 0; i < w.size(); ++i) {
    const int64_t code = i % 2 == 0 ? bytes[i / 2] / 16 : bytes[i / 2] % 16;
    w[i] = table()[code] * absmax[i / block_size_];
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor y,
                           FromDoubles(context.input(1).type(), shape, w, context.allocator()));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

void DequantizeBnb4::Infer(InferContext& context) const {
  ValueFacts w;
  w.type = context.input(1).type;
  // Others are refused in a run.
  if (n_ > 0 && k_ > 0) w.dims = std::vector<SymInt>{SymInt(n_), SymInt(k_)};
  context.SetOutput(0, std::move(w));
}

absl::StatusOr<std::unique_ptr<Kernel>> DequantizeBnb4::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<DequantizeBnb4Kernel>(*this);
}

}  // namespace attnrun::ops
