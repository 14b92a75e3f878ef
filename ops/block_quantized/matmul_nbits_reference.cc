#include <vector>

#include "core/elements.h"
#include "core/status.h"
#include "ops/block_quantized/codes.h"
#include "ops/block_quantized/matmul_nbits.h"

namespace attnrun {
namespace {

// W [N, K] as it stands for numbers.
absl::StatusOr<std::vector<double>> ReadWeight(const MatMulNBits& op, const OpContext& context) {
  const Tensor& codes = context.input(MatMulNBits::kCodes);
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> scales,
                           ToDoubles(context.input(MatMulNBits::kScales)));
  const bool has_points = context.has_input(MatMulNBits::kZeroPoints);
  ATTNRUN_ASSIGN_OR_RETURN(
      const std::vector<double> points,
      op.ZeroPoints(has_points ? context.input(MatMulNBits::kZeroPoints) : Tensor()));
  const double middle = 1 << (op.bits() - 1);
  const int64_t padded = op.blocks() * op.block_size();
  std::vector<double> weight(op.n() * op.k());
  for (int64_t i = 0; i < op.n() * op.k(); ++i) {
    const int64_t column = i / op.k();
    const int64_t k = i % op.k();
    const int64_t block = column * op.blocks() + k / op.block_size();
    const int code = CodeAt(codes.data<uint8_t>(), column * padded + k, op.bits());
    weight[i] = (code - (has_points ? points[block] : middle)) * scales[block];
  }
  return weight;
}

}  // namespace

absl::Status MatMulNBits::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(const Shape shape, Resolve(context));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> a, ToDoubles(context.input(kA)));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> weight, ReadWeight(*this, context));
  std::vector<double> bias(n_);
  if (context.has_input(kBias)) {
    ATTNRUN_ASSIGN_OR_RETURN(bias, ToDoubles(context.input(kBias)));
  }
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t count, NumElements(shape));
  std::vector<double> y(count);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t column = i % n_;
    double sum = bias[column];
    for (int64_t k = 0; k < k_; ++k) sum += a[i / n_ * k_ + k] * weight[column * k_ + k];
    y[i] = sum;
  }
  ATTNRUN_ASSIGN_OR_RETURN(Tensor result,
                           FromDoubles(context.input(kA).type(), shape, y, context.allocator()));
  context.SetOutput(0, std::move(result));
  return absl::OkStatus();
}

}  // namespace attnrun
