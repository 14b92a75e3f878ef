// SPDX-License-Identifier: Apache-2.0
#include "core/same_bits.h"

#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace attnrun {
namespace {

Tensor Floats(const std::vector<float>& values) {
  const int64_t size = static_cast<int64_t>(values.size());
  return Tensor::Of<float>({size}, values).value();
}

TEST(SameBitsTest, ZerosOfAnotherSignDifferAndNansDoNot) {
  EXPECT_TRUE(SameBits(Floats({1, NAN}), Floats({1, NAN})));
  EXPECT_FALSE(SameBits(Floats({0}), Floats({-0.0F})));
  EXPECT_TRUE(SameBits(Floats({}), Floats({})));
}

TEST(SameBitsTest, TypeAndShapeCount) {
  EXPECT_FALSE(SameBits(Floats({0}), Tensor::Of<int32_t>({1}, {0}).value()));
  EXPECT_FALSE(SameBits(Floats({0}), Tensor::Of<float>({1, 1}, {0}).value()));
}

TEST(SameBitsTest, OfStringsAndSequences) {
  const Tensor a = Tensor::Of<std::string>({1}, {"a"}).value();
  const Tensor b = Tensor::Of<std::string>({1}, {"b"}).value();
  EXPECT_TRUE(SameBits(a, Tensor::Of<std::string>({1}, {"a"}).value()));
  EXPECT_FALSE(SameBits(a, b));
  const auto sequence = [](const std::vector<Tensor>& tensors) {
    return Tensor::Sequence(DataType::kString, tensors).value();
  };
  EXPECT_TRUE(SameBits(sequence({a, b}), sequence({a, b})));
  EXPECT_FALSE(SameBits(sequence({a, b}), sequence({a, a})));
  EXPECT_FALSE(SameBits(sequence({a, b}), sequence({a})));
}

TEST(SameBitsTest, NamesCount) {
  EXPECT_TRUE(SameBits(TensorMap{{"x", Floats({1})}}, TensorMap{{"x", Floats({1})}}));
  EXPECT_FALSE(SameBits(TensorMap{{"x", Floats({1})}}, TensorMap{{"y", Floats({1})}}));
  EXPECT_FALSE(SameBits(TensorMap{{"x", Floats({1})}}, TensorMap{}));
}

}  // namespace
}  // namespace attnrun
