// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_OPS_GEMM_NBIT_PRODUCT_TESTER_H_
#define ATTNRUN_TESTS_OPS_GEMM_NBIT_PRODUCT_TESTER_H_

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/parallel.h"
#include "hwy/targets.h"
#include "ops/gemm/nbit_product.h"
#include "support/op_tester.h"

namespace attnrun::testing {

// A weight with codes of 4 bits.
struct IntegerFormat {
  int64_t k;
  int64_t n;
  int64_t block;
  bool zero_points;
};

inline std::vector<IntegerFormat> IntegerFormats() {
  std::vector<IntegerFormat> formats;
  for (const bool zero_points : {false, true}) {
    formats.push_back({384, 100, 32, zero_points});
    formats.push_back({346, 49, 16, zero_points});
    formats.push_back({1000, 24, 256, zero_points});
    formats.push_back({5, 3, 64, zero_points});
    formats.push_back({577, 230, 128, zero_points});
  }
  return formats;
}

inline std::string NameOf(const ::testing::TestParamInfo<IntegerFormat>& test) {
  const IntegerFormat& f = test.param;
  return absl::StrCat("k", f.k, "n", f.n, "block", f.block, f.zero_points ? "points" : "");
}

// Products of rows and such a weight, both random, summed in integers.
class NBitProductTest : public ::testing::TestWithParam<IntegerFormat> {
 protected:
  explicit NBitProductTest(ops::NBitActivations activations) : activations_(activations) {
    std::mt19937 generator(Seed());
    std::normal_distribution<float> normal;
    codes_.resize(f_.n * blocks_ * f_.block / 2);
    for (uint8_t& byte : codes_) byte = static_cast<uint8_t>(generator());
    scales_.resize(f_.n * blocks_);
    for (float& scale : scales_) scale = normal(generator);
    points_.resize(f_.n * blocks_);
    for (float& point : points_) point = static_cast<float>(generator() % 16);
    a_.resize(kRows * f_.k);
    for (float& x : a_) x = normal(generator);
    bias_.resize(f_.n);
    for (float& x : bias_) x = normal(generator);
    epilogue_.bias = bias_.data();
    packed_ = Pack();
  }
  ~NBitProductTest() override { SetNumThreads(threads_); }

  std::shared_ptr<const ops::NBitPanels> Pack() const {
    const float* const points = f_.zero_points ? points_.data() : nullptr;
    return ops::NBitPanels::Pack({{4, f_.block, f_.k, f_.n, codes_.data(), scales_.data(), points}})
        .value();
  }

  std::vector<float> Product(ops::NBitActivations activations, const ops::NBitPanels& b,
                             int64_t first, int64_t rows) const {
    std::vector<float> c(rows * f_.n, NAN);
    ops::NBitGemm(activations, {a_.data() + first * f_.k, rows, f_.k, f_.k}, b, c.data(), f_.n,
                  epilogue_);
    return c;
  }
  std::vector<float> Product(int64_t first, int64_t rows) const {
    return Product(activations_, *packed_, first, rows);
  }

  // Code less zero point of element `i` of a block, as scales_ counts blocks.
  double CodeAt(int64_t block, int64_t i) const { return CodeBits(block, i) - ZeroPoint(block); }
  int CodeBits(int64_t block, int64_t i) const {
    const int64_t at = block * f_.block + i;
    return codes_[at / 2] >> at % 2 * 4 & 15;
  }
  double ZeroPoint(int64_t block) const { return f_.zero_points ? points_[block] : 8; }

  void ExpectSameBitsWithAnyThreadsRowsAndInstructions(const std::vector<int64_t>& some_rows) {
    SetNumThreads(1);
    const std::vector<float> all = Product(0, kRows);
    for (const int threads : {1, 2, 3}) {
      SetNumThreads(threads);
      for (const int64_t rows : some_rows) {
        const auto from = all.begin() + 2 * f_.n;
        EXPECT_EQ(Product(2, rows), std::vector<float>(from, from + rows * f_.n)) << rows;
      }
    }
    hwy::DisableTargets(HWY_AVX3);
    EXPECT_EQ(Product(activations_, *Pack(), 0, kRows), all);
    hwy::DisableTargets(0);
  }

  static constexpr int64_t kRows = 46;
  const ops::NBitActivations activations_;
  const IntegerFormat f_ = GetParam();
  const int64_t blocks_ = (f_.k + f_.block - 1) / f_.block;
  const int threads_ = NumThreads();
  std::vector<uint8_t> codes_;
  std::vector<float> scales_;
  std::vector<float> points_;
  std::vector<float> a_;
  std::vector<float> bias_;
  ops::Epilogue epilogue_;
  std::shared_ptr<const ops::NBitPanels> packed_;
};

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_OPS_GEMM_NBIT_PRODUCT_TESTER_H_
