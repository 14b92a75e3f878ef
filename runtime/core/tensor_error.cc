// SPDX-License-Identifier: Apache-2.0
#include "core/tensor_error.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"

namespace attnrun {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Sums over pairs of elements, of which the first is of the float32 tensor.
class Sums {
 public:
  void Add(double a, double b) {
    if (!std::isfinite(a) || !std::isfinite(b)) {
      infinite_ = infinite_ || !(a == b || (std::isnan(a) && std::isnan(b)));
      return;
    }
    const double difference = a - b;
    largest_ = std::max(largest_, std::abs(difference));
    squares_ += difference * difference;
    aa_ += a * a;
    bb_ += b * b;
    ab_ += a * b;
    ++count_;
  }

  PrecisionError Error() const {
    PrecisionError error;
    error.float32_rms = Mean(aa_);
    error.largest = infinite_ ? kInfinity : largest_;
    error.rms = infinite_ ? kInfinity : Mean(squares_);
    error.cosine = infinite_ ? 0 : Cosine();
    return error;
  }

 private:
  double Mean(double squares) const { return count_ == 0 ? 0 : std::sqrt(squares / count_); }

  // Rounding may lead slightly beyond 1.
  double Cosine() const {
    if (squares_ == 0) return 1;
    if (aa_ == 0 || bb_ == 0) return 0;
    return std::clamp(ab_ / (std::sqrt(aa_) * std::sqrt(bb_)), -1.0, 1.0);
  }

  bool infinite_ = false;
  double largest_ = 0;
  double squares_ = 0;
  double aa_ = 0;
  double bb_ = 0;
  double ab_ = 0;
  double count_ = 0;
};

absl::Status AddElements(const Tensor& a, const Tensor& b, Sums& sums) {
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> as, ToDoubles(a));
  ATTNRUN_ASSIGN_OR_RETURN(const std::vector<double> bs, ToDoubles(b));
  for (size_t i = 0; i < as.size(); ++i) sums.Add(as[i], bs[i]);
  return absl::OkStatus();
}

std::string WhyIncomparable(const Tensor& float32, const Tensor& lower) {
  // An intermediate result may be stored in 2 bytes.
  const bool floats = IsFloatingPoint(float32.type()) && IsFloatingPoint(lower.type());
  if ((float32.type() != lower.type() && !floats) || float32.shape() != lower.shape()) {
    return absl::StrCat("float32 gives ", TypeAndShape(float32), ", but the lower precision ",
                        TypeAndShape(lower));
  }
  const DataType type = float32.type();
  const bool numbers = IsFloatingPoint(type) || IsInteger(type) || type == DataType::kBool;
  return numbers ? "" : absl::StrCat("there are no figures for elements of type ", Name(type));
}

}  // namespace

double PrecisionError::relative_rms() const {
  if (rms == 0) return 0;
  return float32_rms == 0 ? kInfinity : rms / float32_rms;
}

absl::StatusOr<PrecisionError> ErrorOf(const Tensor& float32, const Tensor& lower) {
  PrecisionError error;
  error.incomparable = WhyIncomparable(float32, lower);
  if (!error.incomparable.empty()) return error;
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor a, float32.Dense());
  ATTNRUN_ASSIGN_OR_RETURN(const Tensor b, lower.Dense());
  Sums sums;
  // Working piece by piece avoids a copy of a large tensor in doubles. Packed types have no views
  // of parts.
  const int64_t elements = a.num_elements();
  const int64_t step = BitWidth(a.type()) < 8 ? std::max<int64_t>(elements, 1) : 1 << 20;
  for (int64_t begin = 0; begin < elements; begin += step) {
    const int64_t count = std::min(step, elements - begin);
    const bool whole = count == elements;
    ATTNRUN_RETURN_IF_ERROR(AddElements(whole ? a : a.View({count}, {1}, begin),
                                        whole ? b : b.View({count}, {1}, begin), sums));
  }
  return sums.Error();
}

}  // namespace attnrun
