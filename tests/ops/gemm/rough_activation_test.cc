// SPDX-License-Identifier: Apache-2.0
// Activations behind products of rounded operands.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "ops/gemm/activation.h"
#include "ops/gemm/finish_sums.h"

namespace attnrun::testing {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Case {
  const char* activation;
  double (*formula)(double);
  // In units of max(1, |y|).
  double most_error;
};

double Gelu(double x) { return x * std::erfc(-x / std::sqrt(2)) / 2; }
double GeluTanh(double x) {
  return x / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}
double Silu(double x) { return x / (1 + std::exp(-x)); }
double QuickGelu(double x) { return x / (1 + std::exp(-1.702 * x)); }

// A float operation is off by 2^-24 of its result, of which the last few count.
constexpr double kRounding = 4.0 / (1 << 24);

ops::Activation Named(const std::string& name) {
  for (const ops::NamedActivation& known : ops::kActivations) {
    if (known.name == name) return known.activation;
  }
  ADD_FAILURE() << name;
  return {};
}

// The activation of each x, on the way from sums to C.
std::vector<float> Finished(const std::vector<float>& x, ops::Activation activation) {
  std::vector<float> y(x.size());
  ops::SumsBlock block = {};
  block.sums = x.data();
  block.rows = 1;
  block.columns = block.ld = block.ldc = static_cast<int64_t>(x.size());
  block.c = y.data();
  block.activation = activation;
  block.activation.is_rough = true;
  ops::FinishRows(block, 0, 1);
  return y;
}

class RoughActivationTest : public ::testing::TestWithParam<Case> {};

TEST_P(RoughActivationTest, IsWithinItsBound) {
  const Case& p = GetParam();
  std::vector<float> x;
  for (int i = -160000; i < 160000; ++i) x.push_back(static_cast<float>(i) / 10000);
  const std::vector<float> y = Finished(x, Named(p.activation));
  for (size_t i = 0; i < x.size(); ++i) {
    const double want = p.formula(x[i]);
    const double most = (p.most_error + kRounding) * std::max(1.0, std::fabs(want));
    ASSERT_NEAR(y[i], want, most) << x[i];
  }
}

// Around 0 the error falls with the result.
TEST_P(RoughActivationTest, SmallResultsKeepTheirDigits) {
  const Case& p = GetParam();
  std::vector<float> x;
  for (int i = 1; i < 256; ++i) x.push_back(0.1F / static_cast<float>(i));
  for (int i = 1; i < 256; ++i) x.push_back(-0.1F / static_cast<float>(i));
  const std::vector<float> y = Finished(x, Named(p.activation));
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_NEAR(y[i] / p.formula(x[i]), 1, 1.0 / (1 << 13)) << x[i];
  }
}

TEST_P(RoughActivationTest, FarArgumentsGiveThemselvesOrZero) {
  const std::vector<float> far = {20, 88.3F, 88.5F, 100, 1e4F, 1e19F, 3e38F, kInfinity};
  std::vector<float> x = far;
  for (const float number : far) x.push_back(-number);
  x.resize(32);
  const std::vector<float> y = Finished(x, Named(GetParam().activation));
  for (size_t i = 0; i < far.size(); ++i) {
    if (far[i] == kInfinity) {
      EXPECT_EQ(y[i], kInfinity);
    } else {
      EXPECT_NEAR(y[i] / far[i], 1, 1e-6) << far[i];
      // SiLU of -20 is -4.1e-8.
      EXPECT_NEAR(y[i + far.size()], 0, 5e-8) << -far[i];
    }
  }
}

// As the formulas: -infinity times 0 is not a number.
TEST_P(RoughActivationTest, NanStays) {
  std::vector<float> x(16, NAN);
  x[0] = -kInfinity;
  for (const float y : Finished(x, Named(GetParam().activation))) EXPECT_TRUE(std::isnan(y));
}

INSTANTIATE_TEST_SUITE_P(All, RoughActivationTest,
                         ::testing::Values(Case{"Gelu", Gelu, 3.6e-5},
                                           Case{"GeluTanh", GeluTanh, 2.9e-5},
                                           Case{"Silu", Silu, 1.0 / (1 << 17)},
                                           Case{"QuickGelu", QuickGelu, 1.0 / (1 << 17)}),
                         [](const auto& info) { return std::string(info.param.activation); });

}  // namespace
}  // namespace attnrun::testing
