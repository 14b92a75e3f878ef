// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime's own operators except attention, with expected values computed by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/contrib.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::HasSubstr;

TEST(ContribTest, GelusOfOne) {
  struct Case {
    const char* op_type;
    bool biased;
    float expected;
  };
  // (1 + erf(1 / sqrt(2))) / 2, (1 + tanh(0.79788 * 1.044715)) / 2 and 1 / (1 + exp(-1.702)).
  const Case cases[] = {{"Gelu", false, 0.84134475F},
                        {"BiasGelu", true, 0.84134475F},
                        {"FastGelu", false, 0.84119199F},
                        {"FastGelu", true, 0.84119199F},
                        {"QuickGelu", false, 0.84579577F}};
  for (const Case& c : cases) {
    OpTester op(c.op_type, 1, kMicrosoft);
    op.Input(Make<float>({2, 2}, c.biased ? std::vector<float>{0.75F, -2, 0.75F, -2}
                                          : std::vector<float>{1, 0, 1, 0}));
    if (c.biased) op.Input(Make<float>({2}, {0.25F, 2}));
    SCOPED_TRACE(c.op_type);
    ExpectClose(Reference(op), Make<float>({2, 2}, {c.expected, 0, c.expected, 0}), kEpsilon);
  }
}

TEST(ContribTest, QuickGeluHasAlpha) {
  OpTester op("QuickGelu", 1, kMicrosoft);
  op.Attribute("alpha", 0.0F).Input(Make<float>({3}, {1, 2, -4}));
  ExpectClose(Reference(op), Make<float>({3}, {0.5F, 1, -2}), 0);
}

TEST(ContribTest, BiasSplitGelu) {
  OpTester op("BiasSplitGelu", 1, kMicrosoft);
  op.Input(Make<float>({1, 2, 4}, {1, 2, 1, 0, 3, 4, 0, 1}));
  op.Input(Make<float>({4}, {1, 1, 0, 0}));
  const float one = 0.84134475F;
  ExpectClose(Reference(op), Make<float>({1, 2, 2}, {2 * one, 0, 0, 5 * one}), kEpsilon);
}

TEST(ContribTest, FusedMatMulTransposes) {
  OpTester op("FusedMatMul", 1, kMicrosoft);
  op.Attribute("transA", int64_t{1}).Attribute("transB", int64_t{1}).Attribute("alpha", 2.0F);
  op.Input(Make<float>({3, 2}, {1, 4, 2, 5, 3, 6})).Input(Make<float>({2, 3}, {1, 0, 1, 0, 1, 0}));
  ExpectClose(Reference(op), Make<float>({2, 2}, {8, 4, 20, 10}), 0);
}

TEST(ContribTest, FusedMatMulMovesTheFirstAxisBehindTheBatch) {
  // [M, B, K] x [K', B, N]: matrix b is A[:, b, :] · B[:, b, :].
  OpTester op("FusedMatMul", 1, kMicrosoft);
  op.Attribute("transBatchA", int64_t{1}).Attribute("transBatchB", int64_t{1});
  op.Input(Make<float>({1, 2, 2}, {1, 2, 3, 4}));
  op.Input(Make<float>({2, 2, 1}, {1, 10, 100, 1000}));
  ExpectClose(Reference(op), Make<float>({2, 1, 1}, {201, 4030}), 0);
}

TEST(ContribTest, TransposeMatMulHasNoBatches) {
  OpTester op("TransposeMatMul", 1, kMicrosoft);
  op.Attribute("transBatchA", int64_t{1});
  op.Input(Make<float>({1, 1}, {1})).Input(Make<float>({1, 1}, {1}));
  EXPECT_THAT(op.Reference().status().message(), HasSubstr("transBatchA"));
}

TEST(ContribTest, RangeMayLackItsStep) {
  OpTester op("Range", 1, kMicrosoft);
  op.Input(Make<int32_t>({}, {2})).Input(Make<int32_t>({}, {5}));
  ExpectClose(Reference(op), Make<int32_t>({3}, {2, 3, 4}), 0);
  op.Input(Make<int32_t>({}, {2}));
  ExpectClose(Reference(op), Make<int32_t>({2}, {2, 4}), 0);
}

TEST(ContribTest, FusedGemmActivates) {
  OpTester op("FusedGemm", 1, kMicrosoft);
  op.Attribute("activation", std::string("LeakyRelu")).Attribute("activation_alpha", 0.5F);
  op.Attribute("transB", int64_t{1}).Attribute("alpha", 2.0F).Attribute("beta", 10.0F);
  op.Input(Make<float>({1, 2}, {1, 2})).Input(Make<float>({2, 2}, {3, 4, -3, -4}));
  op.Input(Make<float>({2}, {1, 1}));
  ExpectClose(Reference(op), Make<float>({1, 2}, {32, -6}), 0);
}

TEST(ContribTest, FusedGemmRefusesOtherActivations) {
  OpTester op("FusedGemm", 1, kMicrosoft);
  op.Attribute("activation", std::string("Cube"));
  op.Input(Make<float>({1, 1}, {1})).Input(Make<float>({1, 1}, {1}));
  EXPECT_THAT(op.Reference().status().message(), HasSubstr("must be one of"));
}

TEST(ContribTest, SkipLayerNormalization) {
  // The sums are (1, 3) and (7, 3), with means 2 and 5 and deviations 1 and 2.
  OpTester op("SkipLayerNormalization", 1, kMicrosoft);
  op.Attribute("epsilon", 0.0F).Outputs(4);
  op.Input(Make<float>({1, 2, 2}, {0, 1, 6, 1})).Input(Make<float>({2, 2}, {1, 1, 1, 1}));
  op.Input(Make<float>({2}, {10, 100})).Input(Make<float>({2}, {1, 2}));
  op.Input(Make<float>({2}, {0, 1}));
  ExpectClose(Reference(op), Make<float>({1, 2, 2}, {-9, 102, 11, -98}), 0);
  ExpectClose(Reference(op, 1), Make<float>({1, 2, 1}, {2, 5}), 0);
  ExpectClose(Reference(op, 2), Make<float>({1, 2, 1}, {1, 0.5F}), 0);
  ExpectClose(Reference(op, 3), Make<float>({1, 2, 2}, {1, 3, 7, 3}), 0);
}

TEST(ContribTest, SkipSimplifiedLayerNormalization) {
  // The sum is (1, 7) with a root mean square of 5.
  OpTester op("SkipSimplifiedLayerNormalization", 1, kMicrosoft);
  op.Attribute("epsilon", 0.0F).Outputs(4);
  op.Input(Make<float>({1, 2}, {0, 3})).Input(Make<float>({1, 2}, {1, 2}));
  op.Input(Make<float>({2}, {10, 100})).Input(Make<float>({2}, {0, 2}));
  ExpectClose(Reference(op), Make<float>({1, 2}, {2, 140}), kEpsilon);
  ExpectClose(Reference(op, 3), Make<float>({1, 2}, {1, 7}), 0);
}

// Word rows (1, 3) and (2, 8), position rows (0, 0) and (1, 1), segment rows (0, 0) and (4, 0).
OpTester Embeddings(bool segments) {
  OpTester op("EmbedLayerNormalization", 1, kMicrosoft);
  op.Attribute("epsilon", 0.0F).Outputs(3);
  op.Input(Make<int32_t>({1, 2}, {0, 1}));
  segments ? op.Input(Make<int32_t>({1, 2}, {0, 1})) : op.NoInput();
  op.Input(Make<float>({2, 2}, {1, 3, 2, 8})).Input(Make<float>({2, 2}, {0, 0, 1, 1}));
  segments ? op.Input(Make<float>({2, 2}, {0, 0, 4, 0})) : op.NoInput();
  op.Input(Make<float>({2}, {1, 10})).Input(Make<float>({2}, {1, 0}));
  op.Input(Make<int32_t>({1, 2}, {1, 0}));
  return op;
}

TEST(ContribTest, EmbedLayerNormalization) {
  ExpectClose(Reference(Embeddings(true), 2), Make<float>({1, 2, 2}, {1, 3, 7, 9}), 0);
  ExpectClose(Reference(Embeddings(true)), Make<float>({1, 2, 2}, {0, 10, 0, 10}), 0);
  ExpectClose(Reference(Embeddings(true), 1), Make<int32_t>({1}, {1}), 0);
  ExpectClose(Reference(Embeddings(false), 2), Make<float>({1, 2, 2}, {1, 3, 3, 9}), 0);
  OpTester elsewhere = Embeddings(false);
  elsewhere.Input(Make<int32_t>({1, 2}, {1, 0}));
  ExpectClose(Reference(elsewhere, 2), Make<float>({1, 2, 2}, {2, 4, 2, 8}), 0);
  OpTester outside = Embeddings(false);
  outside.Input(Make<int32_t>({1, 2}, {2, 0}));
  EXPECT_THAT(outside.Reference().status().message(), HasSubstr("Gather: index 2 is outside"));
}

TEST(ContribTest, AMaskOfAnotherShapeIsRefused) {
  OpTester op("EmbedLayerNormalization", 1, kMicrosoft);
  op.Outputs(2).Input(Make<int32_t>({2, 1}, {0, 1})).NoInput();
  op.Input(Make<float>({2, 1}, {1, 2})).Input(Make<float>({1, 1}, {0})).NoInput();
  op.Input(Make<float>({1}, {1})).Input(Make<float>({1}, {1})).Input(Make<int32_t>({1, 1}, {1}));
  EXPECT_THAT(op.Reference().status().message(),
              HasSubstr("expected a mask [2,1], but it is int32[1,1]"));
}

TEST(ContribTest, RotaryEmbedding) {
  // Position 1 turns by a right angle, position 0 not at all. A single id is the position of the
  // first token.
  for (const bool one_id : {true, false}) {
    OpTester op("RotaryEmbedding", 1, kMicrosoft);
    op.Input(Make<float>({1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}));
    op.Input(one_id ? Make<int64_t>({1}, {0}) : Make<int64_t>({1, 2}, {0, 1}));
    op.Input(Make<float>({2, 1}, {1, 0})).Input(Make<float>({2, 1}, {0, 1}));
    ExpectClose(Reference(op), Make<float>({1, 2, 4}, {1, 2, 3, 4, -6, 5, -8, 7}), 0);
  }
}

TEST(ContribTest, RotaryEmbeddingOfPartOfTheHead) {
  OpTester op("RotaryEmbedding", 1, kMicrosoft);
  op.Attribute("num_heads", int64_t{1}).Attribute("rotary_embedding_dim", int64_t{2});
  op.Input(Make<float>({1, 1, 4}, {1, 2, 3, 4})).Input(Make<int64_t>({1}, {0}));
  op.Input(Make<float>({1, 1}, {0})).Input(Make<float>({1, 1}, {1}));
  ExpectClose(Reference(op), Make<float>({1, 1, 4}, {-2, 1, 3, 4}), 0);
  op.Attribute("scale", 2.0F);
  EXPECT_THAT(op.Reference().status().message(), HasSubstr("'scale' is only covered if it is 1"));
  op.Attribute("scale", 1.0F).Attribute("num_heads", int64_t{-1});
  EXPECT_THAT(op.Reference().status().message(), HasSubstr("[B,S,N*H] of num_heads -1"));
}

TEST(ContribTest, MatMulIntegerToFloat) {
  OpTester op("MatMulIntegerToFloat", 1, kMicrosoft);
  op.Input(Make<uint8_t>({2, 2}, {1, 2, 3, 255})).Input(Make<int8_t>({2, 2}, {1, -128, 0, 127}));
  op.Input(Make<float>({}, {0.5F})).Input(Make<float>({2}, {2, 4}));
  op.Input(Make<uint8_t>({1}, {1}))
      .Input(Make<int8_t>({2}, {1, -1}))
      .Input(Make<float>({2}, {10, 20}));
  // [[0, 1], [2, 254]] · [[0, -127], [-1, 128]], times 1 and 2.
  ExpectClose(Reference(op), Make<float>({2, 2}, {9, 276, -244, 64536}), 0);
}

TEST(ContribTest, MatMulBnb4) {
  OpTester op("MatMulBnb4", 1, kMicrosoft);
  op.Attribute("K", int64_t{2}).Attribute("N", int64_t{2}).Attribute("block_size", int64_t{16});
  op.Attribute("quant_type", int64_t{0});
  // FP4's 1 and 0.5, then -0.25 and 0, times 4; high bits first.
  op.Input(Make<float>({1, 2}, {3, 10})).Input(Make<uint8_t>({2}, {0x35, 0xF0}));
  op.Input(Make<float>({1}, {4}));
  ExpectClose(Reference(op), Make<float>({1, 2}, {3 * 4 + 10 * 2, -3}), 0);
  op.Attribute("transB", int64_t{0});
  ExpectClose(Reference(op), Make<float>({1, 2}, {3 * 4 - 10, 3 * 2}), 0);
  op.Attribute("quant_type", int64_t{2});
  EXPECT_THAT(op.Reference().status().message(), HasSubstr("expected quant_type to be 0 (FP4)"));
  op.Attribute("quant_type", int64_t{1}).Attribute("N", int64_t{3});
  EXPECT_THAT(op.Reference().status().message(), HasSubstr("expected B to be uint8[3]"));
}

TEST(ContribTest, DynamicQuantizeMatMul) {
  OpTester op("DynamicQuantizeMatMul", 1, kMicrosoft);
  // The range -1 to 1.55 gives a scale of 0.01 and a zero point of 100.
  op.Input(Make<float>({1, 2}, {-1, 1.55F})).Input(Make<uint8_t>({2, 1}, {3, 5}));
  op.Input(Make<float>({1}, {2})).Input(Make<uint8_t>({}, {1})).Input(Make<float>({1}, {1}));
  // (-100 * 2 + 155 * 4) * 0.01 * 2 + 1.
  ExpectClose(Reference(op), Make<float>({1, 1}, {9.4F}), 4 * kEpsilon);
}

TEST(ContribTest, QuantizedProductsRefuseMismatchedOperands) {
  const auto message = [](const Tensor& b_scale, const Tensor& a_zero_point) {
    OpTester op("MatMulIntegerToFloat", 1, kMicrosoft);
    op.Input(Make<uint8_t>({2, 1}, {1, 2})).Input(Make<int8_t>({1, 3}, {1, 2, 3}));
    op.Input(Make<float>({}, {1})).Input(b_scale).Input(a_zero_point);
    return std::string(op.Reference().status().message());
  };
  EXPECT_THAT(message(Make<float>({2}, {1, 1}), Make<uint8_t>({}, {0})),
              HasSubstr("expected b_scale to be a number or a row of 3"));
  EXPECT_THAT(message(Make<float>({}, {1}), Make<uint8_t>({2}, {0, 0})),
              HasSubstr("expected a_zero_point to be a number or a row of 1"));
  EXPECT_THAT(message(Make<float>({}, {1}), Make<int8_t>({}, {0})),
              HasSubstr("expected A and its zero point to be int8 or uint8"));
}

TEST(ContribTest, ABiasOfAnotherTypeThanTheScalesIsRefused) {
  OpTester op("DynamicQuantizeMatMul", 1, kMicrosoft);
  op.Input(Make<float>({1, 1}, {1})).Input(Make<int8_t>({1, 1}, {1})).Input(Make<float>({}, {1}));
  op.NoInput().Input(Make<int32_t>({1}, {1}));
  EXPECT_THAT(op.Reference().status().message(),
              HasSubstr("of one type, but they are float[], float[] and int32[1]"));
}

TEST(ContribTest, RowsOfAQLinearMatMulMayHaveScalesOfTheirOwn) {
  OpTester op("QLinearMatMul", 21);
  // The numbers are (2, 2) and (1, 2).
  op.Input(Make<uint8_t>({2, 1}, {3, 5})).Input(Make<float>({2}, {1, 0.5F}));
  op.Input(Make<uint8_t>({2}, {1, 1}));
  op.Input(Make<uint8_t>({1, 2}, {1, 2})).Input(Make<float>({}, {1}));
  op.Input(Make<uint8_t>({}, {0}));
  op.Input(Make<float>({2}, {1, 2})).Input(Make<uint8_t>({2}, {0, 10}));
  ExpectClose(Reference(op), Make<uint8_t>({2, 2}, {2, 4, 11, 12}), 0);
}

TEST(ContribTest, MissingQuantizedOperandsAreRefused) {
  const Tensor x = Make<uint8_t>({2}, {1, 2});
  const Tensor scale = Make<float>({}, {1});
  OpTester add("QLinearAdd", 1, kMicrosoft);
  add.Input(x).Input(scale);
  EXPECT_THAT(add.Reference().status().message(), HasSubstr("input 3 is left out"));
  OpTester half("QLinearSigmoid", 1, kMicrosoft);
  half.Input(x).Input(Converted(scale, DataType::kFloat16)).NoInput().Input(scale);
  EXPECT_THAT(half.Reference().status().message(),
              HasSubstr("expected the scale, input 1, to be float, but it is float16[]"));
  OpTester concat("QLinearConcat", 1, kMicrosoft);
  concat.Attribute("axis", int64_t{0}).Input(scale).Input(Make<uint8_t>({}, {0}));
  concat.Input(x).Input(scale).NoInput().NoInput().Input(scale);
  EXPECT_THAT(concat.Reference().status().message(), HasSubstr("input 5 is left out"));
  OpTester product("QLinearMatMul", 21);
  product.Input(Make<uint8_t>({1, 1}, {1})).Input(scale).Input(Make<int8_t>({}, {0}));
  product.Input(Make<uint8_t>({1, 1}, {1})).Input(scale).Input(Make<uint8_t>({}, {0}));
  product.Input(scale).Input(Make<uint8_t>({}, {0}));
  EXPECT_THAT(product.Reference().status().message(),
              HasSubstr("expected zero point 2 of type uint8, but it is int8[]"));
}

TEST(ContribTest, GroupNormTakesChannelsLast) {
  // Two groups of one channel; each has the mean 2 and the variance 1.
  OpTester last("GroupNorm", 1, kMicrosoft);
  last.Input(Make<float>({1, 1, 2, 2}, {1, 3, 3, 1})).Input(Make<float>({2}, {1, 10}));
  last.Input(Make<float>({2}, {0, 5})).Attribute("groups", int64_t{2});
  last.Attribute("epsilon", 0.0F).Attribute("activation", int64_t{0});
  ExpectClose(Reference(last), Make<float>({1, 1, 2, 2}, {-1, 15, 1, -5}), 4 * kEpsilon);
  OpTester first("GroupNorm", 1, kMicrosoft);
  first.Input(Make<float>({1, 2, 1, 2}, {1, 3, 3, 1})).Input(Make<float>({2}, {1, 10}));
  first.Input(Make<float>({2}, {0, 5})).Attribute("groups", int64_t{2});
  first.Attribute("epsilon", 0.0F).Attribute("activation", int64_t{1});
  first.Attribute("channels_last", int64_t{0});
  // x / (1 + exp(-x)) of -1, 1, 15 and -5.
  ExpectClose(Reference(first),
              Make<float>({1, 2, 1, 2}, {-0.26894142F, 0.73105858F, 14.9999954F, -0.03346425F}),
              4 * kEpsilon);
}

TEST(ContribTest, NhwcConvHasChannelsLast) {
  OpTester op("NhwcConv", 1, kMicrosoft);
  op.Input(Make<float>({1, 1, 2, 2}, {1, 2, 3, 4}))
      .Input(Make<float>({1, 1, 2, 2}, {10, 1, 100, 1000}));
  ExpectClose(Reference(op), Make<float>({1, 1, 1, 1}, {4312}), 0);
}

TEST(ContribTest, FusedConvActivates) {
  const auto fused = [](const std::string& name, std::vector<float> numbers) {
    OpTester op("FusedConv", 1, kMicrosoft);
    op.Input(Make<float>({1, 1, 2}, {-1, 2})).Input(Make<float>({1, 1, 1}, {10}));
    op.Attribute("activation", name).Attribute("activation_params", std::move(numbers));
    return op;
  };
  ExpectClose(Reference(fused("LeakyRelu", {0.5F})), Make<float>({1, 1, 2}, {-5, 20}), 0);
  ExpectClose(Reference(fused("Clip", {-3, 7})), Make<float>({1, 1, 2}, {-3, 7}), 0);
  EXPECT_THAT(fused("Clip", {1}).Reference().status().message(),
              HasSubstr("expected 2 activation_params for Clip, but found 1"));
}

}  // namespace
}  // namespace attnrun::testing
