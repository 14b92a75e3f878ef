// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "core/interrupt.h"
#include "core/status.h"
#include "ops/generate/random.h"

namespace attnrun::ops {
namespace {

// Numbers of [0, 1), from all bits of a draw.
class Uniform {
 public:
  explicit Uniform(uint64_t seed) : generator_(seed) {}

  double operator()() {
    // AVX2 converts no unsigned numbers of 64 bits. The sum of the halves is rounded once.
    const uint64_t bits = generator_();
    const auto high = static_cast<double>(static_cast<int64_t>(bits >> 32));
    const auto low = static_cast<double>(static_cast<int64_t>(bits & 0xFFFFFFFF));
    // The largest draws would round to 1.
    return std::min((high * 0x1p32 + low) * 0x1p-64, 1 - 0x1p-53);
  }

 private:
  std::mt19937_64 generator_;
};

// Draws two numbers of the standard normal distribution at a time, by Marsaglia's polar method, as
// the reference does. One after the other, so that they do not depend on the number of threads.
class Normal {
 public:
  explicit Normal(uint64_t seed) : uniform_(seed) {}

  double operator()() {
    has_second_ = !has_second_;
    if (!has_second_) return second_;
    double x = 0;
    double y = 0;
    double square = 0;
    do {
      x = 2 * uniform_() - 1;
      y = 2 * uniform_() - 1;
      square = x * x + y * y;
    } while (square > 1 || square == 0);
    const double scale = std::sqrt(-2 * std::log(square) / square);
    second_ = x * scale;
    return y * scale;
  }

 private:
  Uniform uniform_;
  bool has_second_ = false;
  double second_ = 0;
};

class RandomKernel final : public Kernel {
 public:
  explicit RandomKernel(RandomOp op) : op_(std::move(op)) {}

  absl::string_view name() const override { return "loop"; }
  bool Accepts(const OpContext& context) const override {
    return op_.TypeOf(context) == DataType::kFloat;
  }

  absl::Status Run(OpContext& context) const override {
    ATTNRUN_ASSIGN_OR_RETURN(Tensor * y,
                             context.AllocateOutput(0, DataType::kFloat, op_.ShapeOf(context)));
    if (op_.normal()) {
      Draw(Normal(op_.seed()), op_.a(), op_.b(), *y);
    } else {
      Draw(Uniform(op_.seed()), op_.a(), op_.b() - double{op_.a()}, *y);
    }
    return absl::OkStatus();
  }

 private:
  template <typename Distribution>
  static void Draw(Distribution draw, double start, double scale, Tensor& y) {
    constexpr int64_t kAtOnce = 4096;
    auto* const to = y.mutable_data<float>();
    for (int64_t begin = 0; begin < y.num_elements() && !Interrupted(); begin += kAtOnce) {
      const int64_t end = std::min(begin + kAtOnce, y.num_elements());
      for (int64_t i = begin; i < end; ++i) to[i] = static_cast<float>(start + scale * draw());
    }
  }

  const RandomOp op_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kernel>> RandomOp::MakeKernel(
    const KernelContext& /*context*/) const {
  return std::make_unique<RandomKernel>(*this);
}

}  // namespace attnrun::ops
