// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/elements.h"
#include "core/status.h"
#include "ops/recurrent/recurrent.h"

namespace attnrun::ops {
namespace {

using Doubles = std::vector<double>;

double Apply(const RecurrentAttributes::Function& f, double x) {
  switch (f.function) {
    case GateFunction::kTanh:
      return std::tanh(x);
    case GateFunction::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case GateFunction::kRelu:
      return std::max(x, 0.0);
    case GateFunction::kSoftsign:
      return x / (1 + std::fabs(x));
    case GateFunction::kSoftplus:
      return std::log1p(std::exp(x));
    case GateFunction::kAffine:
      return f.alpha * x + f.beta;
    case GateFunction::kLeakyRelu:
      return x >= 0 ? x : f.alpha * x;
    case GateFunction::kThresholdedRelu:
      return x >= f.alpha ? x : 0;
    case GateFunction::kScaledTanh:
      return f.alpha * std::tanh(f.beta * x);
    case GateFunction::kHardSigmoid:
      return std::min(std::max(f.alpha * x + f.beta, 0.0), 1.0);
    case GateFunction::kElu:
      return x >= 0 ? x : f.alpha * (std::exp(x) - 1);
  }
  return x;
}

class Interpreter {
 public:
  Interpreter(const RecurrentAttributes& attributes, OpContext& context)
      : a_(attributes), context_(context) {}

  absl::Status Run() {
    ATTNRUN_RETURN_IF_ERROR(ReadExtents());
    ATTNRUN_RETURN_IF_ERROR(ReadInputs());
    // Reports a Y that is too large before vectors of doubles are made.
    ATTNRUN_ASSIGN_OR_RETURN(const Tensor fits,
                             Tensor::Allocate(DataType::kDouble, YShape(), context_.allocator()));
    y_.assign(fits.num_elements(), 0.0);
    for (int64_t d = 0; d < directions_; ++d) {
      for (int64_t b = 0; b < batch_; ++b) RunSequence(d, b, a_.IsReverse(d));
    }
    return WriteOutputs();
  }

 private:
  absl::Status ReadExtents() {
    const Tensor& x = context_.input(0);
    const Tensor& r = context_.input(2);
    directions_ = a_.directions();
    gates_ = a_.gates();
    if (x.rank() != 3 || r.rank() != 3) {
      return absl::InvalidArgumentError(absl::StrCat("X and R must have rank 3, but are ",
                                                     TypeAndShape(x), " and ", TypeAndShape(r)));
    }
    steps_ = x.dim(a_.batch_first ? 1 : 0);
    batch_ = x.dim(a_.batch_first ? 0 : 1);
    width_ = x.dim(2);
    hidden_ = r.dim(2);
    if (a_.hidden_size >= 0 && a_.hidden_size != hidden_) {
      return absl::InvalidArgumentError(
          absl::StrCat("hidden_size is ", a_.hidden_size, ", but R is ", TypeAndShape(r)));
    }
    return absl::OkStatus();
  }

  // Reads input i, which must have this shape; zeros if it is left out.
  absl::StatusOr<Doubles> Read(int i, absl::string_view name, const Shape& shape) const {
    ATTNRUN_ASSIGN_OR_RETURN(const int64_t count, NumElements(shape));
    if (!context_.has_input(i)) return Doubles(count, 0.0);
    if (context_.input(i).shape() != shape) {
      return absl::InvalidArgumentError(absl::StrCat("expected ", name, " of shape ",
                                                     ToString(shape), ", but found ",
                                                     TypeAndShape(context_.input(i))));
    }
    return ToDoubles(context_.input(i));
  }

  Shape StateShape() const {
    if (a_.batch_first) return {batch_, directions_, hidden_};
    return {directions_, batch_, hidden_};
  }

  absl::Status ReadInputs() {
    const int64_t rows = gates_ * hidden_;
    ATTNRUN_ASSIGN_OR_RETURN(x_, ToDoubles(context_.input(0)));
    ATTNRUN_ASSIGN_OR_RETURN(w_, Read(1, "W", {directions_, rows, width_}));
    ATTNRUN_ASSIGN_OR_RETURN(r_, Read(2, "R", {directions_, rows, hidden_}));
    ATTNRUN_ASSIGN_OR_RETURN(bias_, Read(3, "B", {directions_, 2 * rows}));
    ATTNRUN_ASSIGN_OR_RETURN(h_, Read(5, "initial_h", StateShape()));
    ATTNRUN_ASSIGN_OR_RETURN(
        c_, Read(a_.cell == Cell::kLstm ? 6 : context_.num_inputs(), "initial_c", StateShape()));
    ATTNRUN_ASSIGN_OR_RETURN(peepholes_, Read(a_.cell == Cell::kLstm ? 7 : context_.num_inputs(),
                                              "P", {directions_, 3 * hidden_}));
    // Samples without elements take no memory, but their lengths do.
    ATTNRUN_RETURN_IF_ERROR(
        Tensor::Allocate(DataType::kInt64, {batch_}, context_.allocator()).status());
    lengths_.assign(batch_, steps_);
    if (!context_.has_input(4)) return absl::OkStatus();
    ATTNRUN_ASSIGN_OR_RETURN(lengths_, ToInts(context_.input(4)));
    const auto outside = [this](int64_t length) { return length < 0 || length > steps_; };
    if (static_cast<int64_t>(lengths_.size()) != batch_ ||
        std::any_of(lengths_.begin(), lengths_.end(), outside)) {
      return absl::InvalidArgumentError(
          absl::StrCat("sequence_lens must be ", batch_, " numbers in [0,", steps_, "]"));
    }
    return absl::OkStatus();
  }

  Shape YShape() const {
    if (a_.batch_first) return {batch_, steps_, directions_, hidden_};
    return {steps_, directions_, batch_, hidden_};
  }

  int64_t StateAt(int64_t d, int64_t b) const {
    return (a_.batch_first ? b * directions_ + d : d * batch_ + b) * hidden_;
  }

  void RunSequence(int64_t d, int64_t b, bool reverse) {
    double* h = h_.data() + StateAt(d, b);
    double* c = c_.data() + StateAt(d, b);
    for (int64_t i = 0; i < lengths_[b]; ++i) {
      const int64_t t = reverse ? lengths_[b] - 1 - i : i;
      const double* x = x_.data() + ((a_.batch_first ? b * steps_ + t : t * batch_ + b) * width_);
      if (a_.cell == Cell::kLstm) {
        StepLstm(d, x, h, c);
      } else if (a_.cell == Cell::kGru) {
        StepGru(d, x, h);
      } else {
        StepRnn(d, x, h);
      }
      const int64_t at = a_.batch_first ? ((b * steps_ + t) * directions_ + d) * hidden_
                                        : ((t * directions_ + d) * batch_ + b) * hidden_;
      std::copy(h, h + hidden_, y_.data() + at);
    }
  }

  // x·Wᵀ + its bias, and h·Rᵀ + its bias, for one unit of one gate.
  double FromInput(int64_t d, int64_t gate, int64_t unit, const double* x) const {
    const int64_t row = (d * gates_ + gate) * hidden_ + unit;
    double sum = bias_[2 * d * gates_ * hidden_ + gate * hidden_ + unit];
    for (int64_t i = 0; i < width_; ++i) sum += x[i] * w_[row * width_ + i];
    return sum;
  }
  double FromState(int64_t d, int64_t gate, int64_t unit, const double* h) const {
    const int64_t row = (d * gates_ + gate) * hidden_ + unit;
    double sum = bias_[(2 * d + 1) * gates_ * hidden_ + gate * hidden_ + unit];
    for (int64_t i = 0; i < hidden_; ++i) sum += h[i] * r_[row * hidden_ + i];
    return sum;
  }

  // Function `index` of the direction, applied to the clipped argument.
  double F(int64_t d, int64_t index, double x) const {
    const double clip = a_.clip;
    if (clip > 0) x = std::min(std::max(x, -clip), clip);
    return Apply(a_.functions[a_.FirstFunction(d) + index], x);
  }

  void StepRnn(int64_t d, const double* x, double* h) const {
    Doubles next(hidden_);
    for (int64_t u = 0; u < hidden_; ++u) {
      next[u] = F(d, 0, FromInput(d, 0, u, x) + FromState(d, 0, u, h));
    }
    std::copy(next.begin(), next.end(), h);
  }

  void StepGru(int64_t d, const double* x, double* h) const {
    Doubles update(hidden_);
    Doubles reset(hidden_);
    for (int64_t u = 0; u < hidden_; ++u) {
      update[u] = F(d, 0, FromInput(d, 0, u, x) + FromState(d, 0, u, h));
      reset[u] = F(d, 0, FromInput(d, 1, u, x) + FromState(d, 1, u, h));
    }
    Doubles damped(hidden_);
    for (int64_t u = 0; u < hidden_; ++u) damped[u] = reset[u] * h[u];
    Doubles next(hidden_);
    for (int64_t u = 0; u < hidden_; ++u) {
      const double state = a_.linear_before_reset ? reset[u] * FromState(d, 2, u, h)
                                                  : FromState(d, 2, u, damped.data());
      const double candidate = F(d, 1, FromInput(d, 2, u, x) + state);
      next[u] = (1 - update[u]) * candidate + update[u] * h[u];
    }
    std::copy(next.begin(), next.end(), h);
  }

  void StepLstm(int64_t d, const double* x, double* h, double* c) const {
    enum Gate { kInput, kOutput, kForget, kCell };
    const auto gate = [&](Gate which, int64_t u) {
      return FromInput(d, which, u, x) + FromState(d, which, u, h);
    };
    const double* p = peepholes_.data() + (d * 3 * hidden_);
    Doubles next(hidden_);
    for (int64_t u = 0; u < hidden_; ++u) {
      const double in = F(d, 0, gate(kInput, u) + p[u] * c[u]);
      const double forget =
          a_.input_forget ? 1 - in : F(d, 0, gate(kForget, u) + p[2 * hidden_ + u] * c[u]);
      c[u] = forget * c[u] + in * F(d, 1, gate(kCell, u));
      next[u] = F(d, 0, gate(kOutput, u) + p[hidden_ + u] * c[u]) * F(d, 2, c[u]);
    }
    std::copy(next.begin(), next.end(), h);
  }

  absl::Status Write(int i, const Shape& shape, const Doubles& values) {
    if (!context_.wants_output(i)) return absl::OkStatus();
    ATTNRUN_ASSIGN_OR_RETURN(
        Tensor tensor, FromDoubles(context_.input(0).type(), shape, values, context_.allocator()));
    context_.SetOutput(i, std::move(tensor));
    return absl::OkStatus();
  }

  absl::Status WriteOutputs() {
    ATTNRUN_RETURN_IF_ERROR(Write(0, YShape(), y_));
    ATTNRUN_RETURN_IF_ERROR(Write(1, StateShape(), h_));
    return a_.cell == Cell::kLstm ? Write(2, StateShape(), c_) : absl::OkStatus();
  }

  const RecurrentAttributes& a_;
  OpContext& context_;
  int64_t directions_ = 1;
  int64_t gates_ = 1;
  int64_t steps_ = 0;
  int64_t batch_ = 0;
  int64_t width_ = 0;
  int64_t hidden_ = 0;
  Doubles x_;
  Doubles w_;
  Doubles r_;
  Doubles bias_;
  Doubles peepholes_;
  // The current states, and every hidden state.
  Doubles h_;
  Doubles c_;
  Doubles y_;
  std::vector<int64_t> lengths_;
};

}  // namespace

absl::Status Recurrent::Reference(OpContext& context) const {
  ATTNRUN_RETURN_IF_ERROR(status_);
  return Interpreter(attributes_, context).Run();
}

}  // namespace attnrun::ops
