// SPDX-License-Identifier: Apache-2.0
#ifndef ATTNRUN_TESTS_SUPPORT_GEMM_TESTER_H_
#define ATTNRUN_TESTS_SUPPORT_GEMM_TESTER_H_

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "core/parallel.h"
#include "ops/gemm/gemm.h"
#include "support/op_tester.h"

namespace attnrun::testing {

inline std::vector<float> RandomVector(int64_t count, std::mt19937& generator) {
  const Tensor tensor = RandomFloats({count}, generator);
  return {tensor.data<float>(), tensor.data<float>() + count};
}

// C [m, n] = A [m, k] B [k, n].
struct Extents {
  int64_t m;
  int64_t k;
  int64_t n;
};

using PackedWeight = std::shared_ptr<const ops::PackedMatrix>;
using PackFunction = PackedWeight(const ops::MatrixView& weight);

// In the format kFloat32 on every machine.
inline PackedWeight PackForFewRows(const ops::MatrixView& weight) {
  ops::KernelContext context;
  context.few_rows = true;
  return ops::PackedMatrix::Pack(weight, context).value();
}

// Products of random operands, by a weight that is packed in some format.
class PackedProductTest : public ::testing::TestWithParam<Extents> {
 protected:
  explicit PackedProductTest(PackFunction* pack)
      : pack_(pack),
        generator_(Seed()),
        a_(RandomVector(m_ * k_, generator_)),
        b_(RandomVector(k_ * n_, generator_)),
        bias_(RandomVector(n_, generator_)),
        residual_(RandomVector(m_ * n_, generator_)) {}
  ~PackedProductTest() override { SetNumThreads(threads_); }

  // activation(A B + bias) + residual / 2 for some rows.
  std::vector<float> OfRows(int64_t first, int64_t rows, const ops::Activation& activation) const {
    const PackedWeight packed = pack_({b_.data(), k_, n_, n_});
    ops::Epilogue epilogue;
    epilogue.bias = bias_.data();
    epilogue.activation = activation;
    epilogue.residual = {residual_.data() + first * n_, rows, n_, n_, 1};
    epilogue.residual_scale = 0.5F;
    std::vector<float> c(rows * n_, NAN);
    ops::Gemm({a_.data() + first * k_, rows, k_, k_}, *packed, c.data(), n_, epilogue);
    return c;
  }

  void ExpectSameBitsOnAnyThreads() const {
    SetNumThreads(1);
    const std::vector<float> one = OfRows(0, m_, {ops::UnaryFunction::kGelu});
    for (const int threads : {2, 3, 7}) {
      SetNumThreads(threads);
      const std::vector<float> many = OfRows(0, m_, {ops::UnaryFunction::kGelu});
      EXPECT_EQ(std::memcmp(one.data(), many.data(), m_ * n_ * sizeof(float)), 0) << threads;
    }
  }

  void ExpectSameBitsOfARowAlone() const {
    const std::vector<float> all = OfRows(0, m_, {ops::UnaryFunction::kGelu});
    for (int64_t row = 0; row < m_; row += 13) {
      const std::vector<float> alone = OfRows(row, 1, {ops::UnaryFunction::kGelu});
      EXPECT_EQ(std::memcmp(alone.data(), all.data() + row * n_, n_ * sizeof(float)), 0) << row;
    }
  }

  PackFunction* const pack_;
  const int64_t m_ = GetParam().m;
  const int64_t k_ = GetParam().k;
  const int64_t n_ = GetParam().n;
  const int threads_ = NumThreads();
  std::mt19937 generator_;
  const std::vector<float> a_;
  const std::vector<float> b_;
  const std::vector<float> bias_;
  const std::vector<float> residual_;
};

// Rows of A may lie apart in any way, and the result may be scaled by a power of two.
inline void ExpectTakesStridesAndScale(PackFunction* pack, const Extents& e = {19, 37, 41}) {
  std::mt19937 generator(Seed());
  const std::vector<float> a = RandomVector(e.m * e.k, generator);
  const std::vector<float> b = RandomVector(e.k * e.n, generator);
  std::vector<float> transposed(a.size());
  for (int64_t i = 0; i < e.m; ++i) {
    for (int64_t k = 0; k < e.k; ++k) transposed[k * e.m + i] = a[i * e.k + k];
  }
  const PackedWeight packed = pack({b.data(), e.k, e.n, e.n});
  ops::Epilogue epilogue;
  epilogue.scale = 0.5F;
  std::vector<float> c(e.m * e.n);
  std::vector<float> d(e.m * e.n);
  ops::Gemm({a.data(), e.m, e.k, e.k}, *packed, c.data(), e.n, {});
  ops::Gemm({transposed.data(), e.m, e.k, 1, e.m}, *packed, d.data(), e.n, epilogue);
  for (size_t i = 0; i < c.size(); ++i) EXPECT_EQ(c[i] * 0.5F, d[i]);
}

}  // namespace attnrun::testing

#endif  // ATTNRUN_TESTS_SUPPORT_GEMM_TESTER_H_
