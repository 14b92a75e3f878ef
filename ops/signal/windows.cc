// SPDX-License-Identifier: Apache-2.0
#include "ops/signal/windows.h"

#include <cmath>
#include <numbers>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "ops/tensors/int_input.h"

namespace attnrun::ops {
namespace {

// A tensor of doubles, all 0, that becomes output 0; an absurdly large shape is an error.
class Result {
 public:
  static absl::StatusOr<Result> Make(OpContext& context, absl::Span<const int64_t> shape) {
    ATTNRUN_ASSIGN_OR_RETURN(Tensor tensor,
                             Tensor::Allocate(DataType::kDouble, shape, context.allocator()));
    return Result(std::move(tensor));
  }
  absl::Span<double> values() { return values_; }
  absl::Status SetAs(DataType type, OpContext& context) const {
    ATTNRUN_ASSIGN_OR_RETURN(Tensor y,
                             FromDoubles(type, tensor_.shape(), values_, context.allocator()));
    context.SetOutput(0, std::move(y));
    return absl::OkStatus();
  }

 private:
  explicit Result(Tensor tensor)
      : tensor_(std::move(tensor)),
        values_(tensor_.mutable_data<double>(), static_cast<size_t>(tensor_.num_elements())) {
    for (double& value : values_) value = 0;
  }

  Tensor tensor_;
  absl::Span<double> values_;
};

double MelOf(double hertz) { return 2595 * std::log10(1 + hertz / 700); }
double HertzOf(double mel) { return 700 * (std::pow(10, mel / 2595) - 1); }

absl::StatusOr<double> ReadNumber(const Tensor& tensor, absl::string_view what) {
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(tensor));
  if (values.size() == 1 && std::isfinite(values[0])) return values[0];
  return absl::InvalidArgumentError(
      absl::StrCat(what, " must be one finite number, but is ", TypeAndShape(tensor)));
}

// The corner points of a filter bank: band i rises from point i to i + 1 and falls to i + 2.
struct MelScale {
  int64_t bands;
  int64_t dft_length;
  int64_t sample_rate;
  double lowest;
  double step;

  double Point(int64_t i) const {
    const double hertz = HertzOf(lowest + static_cast<double>(i) * step);
    return std::floor(static_cast<double>(dft_length + 1) * hertz /
                      static_cast<double>(sample_rate));
  }
  // The weight of bin `bin` of the spectrum in band i.
  double Weight(int64_t i, double bin) const {
    const double left = Point(i);
    const double center = Point(i + 1);
    const double right = Point(i + 2);
    if (bin == center) return 1;
    if (bin >= left && bin < center) return (bin - left) / (center - left);
    return bin > center && bin < right ? (right - bin) / (right - center) : 0;
  }
};

absl::StatusOr<MelScale> ReadScale(const OpContext& context) {
  MelScale scale{};
  ATTNRUN_ASSIGN_OR_RETURN(scale.bands, ReadInt(context.input(0), "num_mel_bins"));
  ATTNRUN_ASSIGN_OR_RETURN(scale.dft_length, ReadInt(context.input(1), "dft_length"));
  ATTNRUN_ASSIGN_OR_RETURN(scale.sample_rate, ReadInt(context.input(2), "sample_rate"));
  ATTNRUN_ASSIGN_OR_RETURN(const double low, ReadNumber(context.input(3), "lower_edge_hertz"));
  ATTNRUN_ASSIGN_OR_RETURN(const double high, ReadNumber(context.input(4), "upper_edge_hertz"));
  constexpr int64_t kMost = int64_t{1} << 40;
  if (scale.bands < 1 || scale.bands > kMost || scale.dft_length < 0 || scale.dft_length > kMost ||
      scale.sample_rate < 1 || low < 0 || high < low) {
    return absl::InvalidArgumentError(absl::StrCat(
        "there is no mel scale of ", scale.bands, " bands from ", low, " to ", high,
        " Hz for a transform of length ", scale.dft_length, " at rate ", scale.sample_rate));
  }
  scale.lowest = MelOf(low);
  scale.step = (MelOf(high) - scale.lowest) / static_cast<double>(scale.bands + 2);
  return scale;
}

}  // namespace

absl::Status CosineWindow::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(const int64_t size, ReadInt(context.input(0), "size"));
  ATTNRUN_ASSIGN_OR_RETURN(Result result, Result::Make(context, {size}));
  const auto period = static_cast<double>(periodic_ ? size : size - 1);
  const auto [a0, a1, a2] = coefficients_;
  for (size_t n = 0; n < result.values().size(); ++n) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(n) / period;
    result.values()[n] = period == 0 ? 1 : a0 - a1 * std::cos(angle) + a2 * std::cos(2 * angle);
  }
  return result.SetAs(type_, context);
}

absl::Status MelWeightMatrix::Reference(OpContext& context) const {
  ATTNRUN_ASSIGN_OR_RETURN(const MelScale scale, ReadScale(context));
  const int64_t bins = scale.dft_length / 2 + 1;
  ATTNRUN_ASSIGN_OR_RETURN(Result result, Result::Make(context, {bins, scale.bands}));
  double* weight = result.values().data();
  for (int64_t bin = 0; bin < bins; ++bin) {
    for (int64_t i = 0; i < scale.bands; ++i) {
      *weight++ = scale.Weight(i, static_cast<double>(bin));
    }
  }
  return result.SetAs(type_, context);
}

}  // namespace attnrun::ops
