// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <vector>

#include "core/elements.h"
#include "core/parallel.h"
#include "core/status.h"
#include "ops/embedding/masked_mean.h"

namespace attnrun::ops {
namespace {

// Columns that are summed in one pass from the first row to the last.
constexpr int64_t kBlock = 64;

// Sums `columns` columns of the rows of x, each row times its weight.
void WeightedSums(const float* x, int64_t stride, absl::Span<const float> weights, int64_t columns,
                  float* sums) {
  std::fill(sums, sums + columns, 0.0F);
  for (const float weight : weights) {
    for (int64_t i = 0; i < columns; ++i) sums[i] += x[i] * weight;
    x += stride;
  }
}

class MaskedMeanKernel final : public Kernel {
 public:
  explicit MaskedMeanKernel(float min_count) : min_count_(min_count) {}

  absl::string_view name() const override { return "rows"; }
  bool Accepts(const OpContext& context) const override {
    return context.input(0).type() == DataType::kFloat;
  }

  absl::Status Run(OpContext& context) const override {
    ATTNRUN_ASSIGN_OR_RETURN(const Shape shape, MaskedMean::Resolve(context));
    const auto [batch, rows, columns] = std::array{shape[0], shape[1], shape[2]};
    ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> mask, ToDoubles(context.input(1)));
    const std::vector<float> weights(mask.begin(), mask.end());
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y,
                             context.AllocateOutput(0, DataType::kFloat, {batch, columns}));
    const auto* const x = context.input(0).data<float>();
    auto* const means = y->mutable_data<float>();
    const int64_t blocks = (columns + kBlock - 1) / kBlock;
    ParallelFor(batch * blocks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t b = i / blocks;
        const int64_t first = i % blocks * kBlock;
        const int64_t count = std::min(kBlock, columns - first);
        const auto of_sample = absl::MakeSpan(weights).subspan(b * rows, rows);
        float* const out = means + b * columns + first;
        WeightedSums(x + b * rows * columns + first, columns, of_sample, count, out);
        const float total = Total(of_sample);
        for (int64_t d = 0; d < count; ++d) out[d] /= total;
      }
    });
    return absl::OkStatus();
  }

 private:
  // The divisor of the sums.
  float Total(absl::Span<const float> weights) const {
    float total = 0;
    for (const float weight : weights) total += weight;
    // NaN stays NaN.
    return total < min_count_ ? min_count_ : total;
  }

  const float min_count_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> MaskedMean::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<MaskedMeanKernel>(min_count_);
}

}  // namespace attnrun::ops
