// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <thread>

#include "core/elements.h"
#include "core/parallel.h"
#include "support/conv_window.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using Ints = std::vector<int64_t>;

struct Case {
  Ints x;
  Ints w;
  bool bias = false;
  int64_t group = 1;
  Ints strides = {};
  Ints pads = {};
  Ints dilations = {};
  std::string auto_pad = "NOTSET";
};

void SetAttributes(const Case& param, OpTester& op) {
  SetWindow(param, op);
  op.Attribute("auto_pad", param.auto_pad);
}

class ConvTest : public ::testing::TestWithParam<Case> {};

TEST_P(ConvTest, KernelAgreesWithReference) {
  const Case& param = GetParam();
  std::mt19937 generator(Seed());
  for (const DataType type : {DataType::kFloat, DataType::kFloat16}) {
    OpTester op("Conv", 11);
    SetAttributes(param, op);
    op.Input(Converted(RandomFloats(param.x, generator), type));
    op.Constant(Converted(RandomFloats(param.w, generator), type));
    if (param.bias) op.Input(Converted(RandomFloats({param.w[0]}, generator), type));
    const Ints kernel(param.w.begin() + 1, param.w.end());
    // As for matrix products: the errors of sums are random walks, and the largest error counts.
    const auto depth = static_cast<double>(NumElements(kernel).value());
    ExpectClose(op.Kernel().value()[0], op.Reference().value()[0],
                Epsilon(type) + 2 * kEpsilon * depth);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, ConvTest,
    ::testing::Values(
        Case{{2, 3, 9}, {4, 3, 3}}, Case{{1, 8, 40}, {5, 8, 3}, true, 1, {2}, {1, 1}},
        Case{{1, 4, 30}, {6, 2, 5}, true, 2, {1}, {4, 3}, {2}},
        Case{{1, 3, 32, 32}, {20, 3, 8, 8}, true, 1, {8, 8}},
        Case{{2, 5, 13, 11}, {7, 5, 1, 1}, true},
        Case{{1, 5, 13, 11}, {7, 5, 1, 1}, true, 1, {2, 2}},
        Case{{1, 6, 10, 70}, {6, 1, 3, 3}, true, 6, {1, 1}, {1, 1, 1, 1}},
        Case{{1, 6, 10, 9}, {12, 3, 3, 2}, false, 2, {2, 1}, {0, 1, 2, 0}, {1, 3}},
        Case{{1, 2, 7, 8}, {3, 2, 3, 4}, false, 1, {2, 3}, {}, {}, "SAME_UPPER"},
        Case{{1, 2, 7, 8}, {3, 2, 3, 4}, false, 1, {2, 3}, {}, {}, "SAME_LOWER"},
        Case{{1, 2, 7, 8}, {3, 2, 3, 4}, false, 1, {2, 3}, {}, {}, "VALID"},
        Case{{1, 2, 5, 6, 7}, {40, 2, 2, 3, 2}, true, 1, {1, 2, 1}, {1, 0, 1, 0, 2, 1}},
        // Windows entirely within the padding; no images, channels or features at all.
        Case{{1, 2, 3}, {2, 2, 2}, true, 1, {3}, {7, 8}}, Case{{0, 2, 3}, {2, 2, 2}},
        Case{{1, 0, 3}, {2, 0, 2}, true}, Case{{1, 2, 3}, {0, 2, 2}},
        Case{{2, 64, 50}, {100, 64, 7}, true, 1, {1}, {3, 3}},
        // Several tiles, a number of features that is no multiple of a block, channels in several
        // pieces.
        Case{{1, 20, 1100}, {130, 20, 3}, true, 1, {2}, {1, 1}},
        Case{{1, 300, 40}, {70, 300, 3}, true, 1, {1}, {2, 0}},
        Case{{1, 16, 40, 20}, {65, 16, 3, 3}, true, 1, {1, 2}, {1, 0, 2, 3}, {2, 1}},
        Case{{1, 12, 90}, {150, 6, 40}, true, 2, {1}, {20, 19}},
        // Windows that do not touch, some cut by the padding; four spatial axes.
        Case{{2, 5, 30, 31}, {66, 5, 8, 4}, true, 1, {9, 4}, {3, 2, 4, 1}},
        Case{{1, 3, 4, 4, 4, 6}, {8, 3, 2, 2, 2, 3}, true, 1, {2, 2, 2, 3}},
        // Windows that slide along one axis: over more positions than are computed at once; in
        // groups; with a stride longer than the kernel; a single window, mostly in the padding.
        Case{{2, 24, 1300}, {50, 24, 3}, true, 1, {2}, {1, 0}},
        Case{{2, 96, 60}, {96, 24, 16}, true, 4, {1}, {8, 7}},
        Case{{1, 32, 50}, {40, 32, 2}, true, 1, {3}, {1, 1}},
        Case{{1, 32, 50}, {40, 32, 1}, true, 1, {3}, {0, 2}},
        Case{{1, 512, 40}, {64, 512, 3}, true, 1, {2}, {}},
        Case{{1, 32, 2}, {40, 32, 9}, true, 1, {1}, {5, 2}},
        // A padded copy of the input would be absurdly large.
        Case{{1, 16, 2}, {16, 16, 3}, true, 1, {1}, {30000, 0}},
        // Depthwise: more channels than a block; a kernel with more elements than a block of a sum.
        Case{{2, 100, 15, 14}, {100, 1, 7, 7}, true, 100, {1, 1}, {3, 3, 3, 3}},
        Case{{1, 67, 300}, {67, 1, 31}, true, 67, {1}, {15, 15}},
        Case{{1, 3, 700}, {3, 1, 600}, false, 3, {1}, {10, 0}, {1}},
        Case{{1, 6, 5, 9, 8}, {6, 1, 3, 3, 3}, true, 6, {1, 1, 1}, {1, 1, 1, 1, 1, 1}},
        // Groups with several features per channel.
        Case{{1, 32, 12, 12}, {64, 1, 3, 3}, true, 32, {1, 1}, {1, 1, 1, 1}},
        Case{{1, 48, 9, 10}, {48, 16, 3, 3}, true, 3, {1, 1}, {1, 1, 1, 1}},
        Case{{1, 8, 6, 20, 20}, {16, 8, 3, 3, 3}, true, 1, {1, 2, 1}, {1, 1, 1, 0, 1, 2}},
        // Few features along lines: in several parts, of several blocks of a sum, in groups, of
        // images, padded far.
        Case{{2, 4, 1000}, {4, 4, 11}, true, 1, {1}, {25, 25}, {5}},
        Case{{1, 31, 400}, {15, 31, 9}, true, 1, {1}, {4, 4}},
        Case{{1, 12, 401}, {22, 6, 3}, false, 2, {1}, {0, 7}},
        Case{{2, 3, 9, 65}, {3, 3, 4, 3}, true, 1, {2, 1}, {1, 0, 3, 5}, {2, 1}},
        Case{{1, 5, 2, 3, 50}, {1, 5, 2, 2, 3}, true, 1, {1, 1, 1}, {1, 0, 1, 0, 1, 1}},
        Case{{1, 2, 10}, {9, 2, 3}, true, 1, {1}, {70, 0}},
        Case{{1, 1, 0, 60}, {2, 1, 2, 2}, true, 1, {1, 1}, {1, 0, 2, 0}}));

TEST(ConvKernelTest, AgreesWithReferenceOnRandomLinesOfFewFeatures) {
  std::mt19937 generator(Seed());
  const auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(generator);
  };
  for (int i = 0; i < 60; ++i) {
    const int64_t group = draw(1, 3);
    const int64_t channels = draw(1, 9);
    Case param = {{draw(1, 2), channels * group}, {draw(1, 12) * group, channels}, draw(0, 1) == 1};
    param.group = group;
    const int64_t axes = draw(1, 3);
    param.pads.resize(2 * axes);
    for (int64_t axis = 0; axis < axes; ++axis) {
      const bool last = axis + 1 == axes;
      param.x.push_back(last ? draw(48, 500) : draw(3, 6));
      param.w.push_back(draw(1, last ? 8 : 3));
      param.strides.push_back(last ? 1 : draw(1, 2));
      param.dilations.push_back(last ? draw(1, 4) : 1);
      param.pads[axis] = draw(0, last ? 30 : 2);
      param.pads[axes + axis] = draw(0, last ? 30 : 2);
    }
    OpTester op("Conv", 11);
    SetAttributes(param, op);
    op.Input(RandomFloats(param.x, generator)).Constant(RandomFloats(param.w, generator));
    if (param.bias) op.Constant(RandomFloats({param.w[0]}, generator));
    const auto depth = static_cast<double>(NumElements(absl::MakeSpan(param.w).subspan(1)).value());
    ExpectClose(op.Kernel().value()[0], op.Reference().value()[0], kEpsilon * (1 + 2 * depth));
  }
}

// Convolutions that are divided into pieces in different ways.
const Case kKinds[] = {{{3, 20, 700}, {130, 20, 3}, true, 1, {2}, {1, 1}},
                       {{3, 3, 64, 64}, {200, 3, 16, 16}, true, 1, {16, 16}},
                       {{3, 64, 30, 30}, {64, 64, 3, 3}, true, 1, {1, 1}, {1, 1, 1, 1}},
                       {{3, 48, 100}, {48, 12, 20}, true, 4, {1}, {10, 9}},
                       {{3, 96, 600}, {96, 24, 16}, true, 4, {1}, {8, 7}},
                       {{3, 96, 28, 28}, {96, 1, 7, 7}, true, 96, {1, 1}, {3, 3, 3, 3}},
                       {{3, 16, 30, 30}, {80, 16, 1, 1}, true},
                       {{3, 1, 4000}, {64, 1, 10}, true, 1, {5}},
                       {{3, 8, 900}, {8, 4, 40}, true, 2, {1}, {20, 3}}};

// Sets the number of threads during its lifetime.
class Threads {
 public:
  explicit Threads(int threads) : before_(NumThreads()) { SetNumThreads(threads); }
  ~Threads() { SetNumThreads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  const int before_;
};

// A Conv with constant random weights.
class ConvOp {
 public:
  explicit ConvOp(const Case& param) : op_("Conv", 11) {
    std::mt19937 generator(1);
    SetAttributes(param, op_);
    x_ = RandomFloats(param.x, generator);
    w_ = RandomFloats(param.w, generator);
    bias_ = RandomFloats({param.w[0]}, generator);
  }
  const Tensor& x() const { return x_; }
  Tensor Run(const Tensor& x) const {
    OpTester op = op_;
    return op.Input(x).Constant(w_).Constant(bias_).Kernel().value()[0];
  }

 private:
  OpTester op_;
  Tensor x_;
  Tensor w_;
  Tensor bias_;
};

TEST(ConvKernelTest, BitsDoNotDependOnThreadsOrTheBatch) {
  for (const Case& param : kKinds) {
    const ConvOp conv(param);
    const Threads one(1);
    const Tensor alone = conv.Run(conv.x());
    for (const int threads : {2, 3, 8}) {
      const Threads several(threads);
      ExpectClose(conv.Run(conv.x()), alone, 0);
    }
    const int64_t size = conv.x().num_elements() / param.x[0];
    Ints shape = param.x;
    shape[0] = 1;
    for (int64_t i = 0; i < param.x[0]; ++i) {
      const Tensor image = Tensor::Borrow(DataType::kFloat, shape,
                                          conv.x().data<float>() + i * size, size * sizeof(float))
                               .value();
      const Tensor y = conv.Run(image);
      EXPECT_EQ(std::memcmp(y.raw(), alone.data<float>() + i * y.num_elements(), y.byte_size()), 0);
    }
  }
}

int64_t CountThreads() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

TEST(ConvKernelTest, StartsNoThreads) {
  int64_t before = 0;
  int64_t after = 0;
  // OpenMP's threads belong to the thread that starts them, and a new thread has none yet.
  std::thread([&] {
    SetNumThreads(1);
    before = CountThreads();
    for (const Case& param : kKinds) {
      const ConvOp conv(param);
      conv.Run(conv.x());
    }
    after = CountThreads();
  }).join();
  EXPECT_EQ(after, before);
}

TEST(ConvKernelTest, AnInfiniteElementOnlyAffectsItsWindows) {
  // The padding of pieces and blocks must not multiply the infinity by zero.
  const ConvOp conv({{1, 300, 600}, {70, 300, 3}, true, 1, {1}, {1, 1}});
  const Tensor expected = conv.Run(conv.x());
  Tensor x = Tensor::Allocate(DataType::kFloat, conv.x().shape()).value();
  std::memcpy(x.mutable_raw(), conv.x().raw(), x.byte_size());
  constexpr int64_t kAt = 299 * 600 + 300;
  x.mutable_data<float>()[kAt] = std::numeric_limits<float>::infinity();
  const Tensor y = conv.Run(x);
  for (int64_t i = 0; i < y.num_elements(); ++i) {
    const int64_t position = i % 600;
    if (position >= 299 && position <= 301) {
      EXPECT_TRUE(std::isinf(y.data<float>()[i]));
    } else {
      EXPECT_EQ(y.data<float>()[i], expected.data<float>()[i]);
    }
  }
}

TEST(ConvReferenceTest, PadsStridesAndBias) {
  OpTester op("Conv", 22);
  op.Attribute("pads", Ints{1, 0}).Attribute("strides", Ints{2});
  op.Input(Make<float>({1, 1, 4}, {1, 2, 3, 4})).Input(Make<float>({1, 1, 2}, {1, 10}));
  op.Input(Make<float>({1}, {0.5}));
  ExpectClose(op.Reference().value()[0], Make<float>({1, 1, 2}, {10.5, 32.5}), 0);
}

std::string Message(const Case& param, std::string op_type = "Conv", Ints kernel_shape = {}) {
  const auto zeros = [](const Ints& dims) {
    return FromDoubles(DataType::kFloat, dims, std::vector<double>(NumElements(dims).value()))
        .value();
  };
  OpTester op(std::move(op_type), 11);
  SetAttributes(param, op);
  if (!kernel_shape.empty()) op.Attribute("kernel_shape", kernel_shape);
  op.Input(zeros(param.x)).Input(zeros(param.w));
  EXPECT_FALSE(op.Kernel().ok());
  return std::string(op.Reference().status().message());
}

TEST(ConvReferenceTest, ErrorsSayWhatIsWrong) {
  EXPECT_EQ(Message({{1, 2}, {3, 2}}),
            "expected X and W of equal rank, at least 3, but X is float[1,2] and W is float[3,2]");
  EXPECT_EQ(
      Message({{1, 4, 5}, {3, 2, 2}}),
      "expected X [N, C, ..] and W [M, C/group, ..] with C and M multiples of group, but X is "
      "float[1,4,5], W is float[3,2,2] and group is 1");
  EXPECT_THAT(Message({{1, 4, 5}, {3, 2, 2}, false, 0}), ::testing::HasSubstr("group is 0"));
  EXPECT_EQ(Message({{1, 2, 5}, {3, 2, 6}}),
            "a kernel that reaches over 6 elements does not fit spatial axis 0 of 5 elements and "
            "padding of 0");
  EXPECT_EQ(Message({{1, 2, 5}, {3, 2, 3}, false, 1, {}, {-1, 2}}),
            "expected pads to hold numbers from 0 to 1073741824, but found [-1,2]");
  EXPECT_EQ(Message({{1, 2, 5}, {3, 2, 3}, false, 1, {}, {1 << 30, 1 << 30}}),
            "spatial axis 0 of 5 elements and padding of 2147483648 makes an output extent beyond "
            "1073741824");
  EXPECT_EQ(Message({{1, 2, 5}, {3, 2, 3}, false, 1, {0}}),
            "expected strides to hold numbers from 1 to 1073741824, but found [0]");
  EXPECT_EQ(Message({{1, 2, 5}, {3, 2, 3}, false, 1, {1, 1}}),
            "expected strides to hold 1 numbers, but found [1,1]");
  EXPECT_EQ(Message({{1, 2, 5}, {3, 2, 3}}, "Conv", {2}),
            "expected kernel_shape to hold [3], but found [2]");
  EXPECT_THAT(Message({{1, 2, 5}, {3, 2, 0}}), ::testing::HasSubstr("numbers from 1 to"));
  EXPECT_EQ(Message({{1, 2, 5}, {3, 2, 3}, false, 1, {}, {}, {}, "SAME"}),
            "attribute 'auto_pad' must be one of NOTSET, SAME_UPPER, SAME_LOWER, VALID (found "
            "'SAME')");
  // 2^30 windows of 2^60 steps; almost none of them touches the input.
  EXPECT_FALSE(
      Message({{1, 1, 1, 1}, {1, 1, 1, 1}, false, 1, {}, {1 << 30, 1 << 30, 1 << 30, 1 << 30}})
          .empty());
}

TEST(ConvTransposeTest, IsTheAdjointOfConv) {
  // <Conv(x), y> = <x, ConvTranspose(y)> for any windows.
  std::mt19937 generator(Seed());
  const Case param = {{2, 4, 9, 8}, {6, 2, 3, 2}, false, 2, {2, 1}, {1, 0, 0, 1}, {1, 2}};
  const Tensor x = RandomFloats(param.x, generator);
  const Tensor w = RandomFloats(param.w, generator);
  OpTester conv("Conv", 11);
  SetAttributes(param, conv);
  const Tensor cx = conv.Input(x).Input(w).Reference().value()[0];
  const Tensor y = RandomFloats({cx.shape().begin(), cx.shape().end()}, generator);
  OpTester transpose("ConvTranspose", 11);
  SetAttributes(param, transpose);
  transpose.Attribute("output_padding", Ints{1, 0});
  const Tensor ty = transpose.Input(y).Input(w).Reference().value()[0];
  ASSERT_EQ(ty.shape(), x.shape());
  const auto inner = [](const Tensor& a, const Tensor& b) {
    double sum = 0;
    for (int64_t i = 0; i < a.num_elements(); ++i) sum += a.data<float>()[i] * b.data<float>()[i];
    return sum;
  };
  EXPECT_NEAR(inner(cx, y), inner(x, ty), kEpsilon * 1e4);
}

struct TransposeCase {
  Case conv;
  Ints output_padding = {};
  Ints output_shape = {};
};

// A ConvTranspose of `param` with random operands of `type`.
OpTester Transpose(const TransposeCase& param, DataType type, bool constant_weights,
                   std::mt19937& generator) {
  const Case& conv = param.conv;
  OpTester op("ConvTranspose", 11);
  SetAttributes(conv, op);
  if (!param.output_padding.empty()) op.Attribute("output_padding", param.output_padding);
  if (!param.output_shape.empty()) op.Attribute("output_shape", param.output_shape);
  op.Input(Converted(RandomFloats(conv.x, generator), type));
  const Tensor w = Converted(RandomFloats(conv.w, generator), type);
  constant_weights ? op.Constant(w) : op.Input(w);
  if (conv.bias) {
    op.Input(Converted(RandomFloats({conv.w[1] * conv.group}, generator), type));
  }
  return op;
}

class ConvTransposeKernelTest : public ::testing::TestWithParam<TransposeCase> {};

TEST_P(ConvTransposeKernelTest, AgreesWithReference) {
  const TransposeCase& param = GetParam();
  std::mt19937 generator(Seed());
  // As for Conv: a sum has at most this many terms.
  Ints terms(param.conv.w.begin() + 2, param.conv.w.end());
  terms.push_back(param.conv.w[0] / param.conv.group);
  const auto depth = static_cast<double>(NumElements(terms).value());
  for (const bool constant : {true, false}) {
    for (const DataType type : {DataType::kFloat, DataType::kFloat16}) {
      const OpTester op = Transpose(param, type, constant, generator);
      ExpectClose(op.Kernel().value()[0], op.Reference().value()[0],
                  Epsilon(type) + 2 * kEpsilon * depth);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, ConvTransposeKernelTest,
    ::testing::Values(
        // Vocoders: kernels of twice the stride, of an odd multiple, of less than the stride.
        TransposeCase{{{2, 32, 40}, {32, 16, 16}, true, 1, {8}, {4, 4}}},
        TransposeCase{{{1, 20, 33}, {20, 6, 11}, true, 1, {5}, {3, 3}}, {1}},
        TransposeCase{{{1, 8, 9}, {8, 5, 2}, true, 1, {3}}},
        TransposeCase{{{1, 16, 9}, {16, 1, 64}, false, 1, {16}, {32, 16}}},
        // Decoders of images: windows that do not touch; kernels of 4 and of 3 with stride 2.
        TransposeCase{{{2, 24, 7, 9}, {24, 10, 2, 2}, true, 1, {2, 2}}},
        TransposeCase{{{1, 24, 7, 9}, {24, 1, 2, 2}, true, 1, {2, 2}}},
        TransposeCase{{{1, 20, 9, 20}, {20, 17, 4, 4}, true, 1, {2, 2}, {1, 1, 1, 1}}},
        TransposeCase{{{2, 20, 9, 20}, {20, 17, 3, 3}, true, 1, {2, 2}, {1, 1, 1, 1}}, {1, 1}},
        TransposeCase{{{1, 6, 9, 20}, {6, 8, 3, 5}, true, 2, {1, 3}, {1, 0, 2, 1}}, {0, 2}},
        TransposeCase{{{1, 4, 5, 40}, {4, 3, 4, 4}, true, 1, {4, 4}}},
        TransposeCase{{{1, 4, 3, 40}, {4, 3, 3, 3}, true, 1, {3, 3}}},
        // Stride 1, alone and with pads that cut more than the kernel adds.
        TransposeCase{{{1, 8, 12, 13}, {8, 9, 3, 3}, true, 1, {}, {1, 1, 1, 1}}},
        TransposeCase{{{1, 8, 12, 13}, {8, 9, 3, 3}, true, 1, {}, {4, 3, 0, 5}}},
        TransposeCase{{{1, 8, 12}, {8, 9, 3}, true, 1, {2}, {9, 7}}},
        // Dilations that share a factor with the stride, and that do not.
        TransposeCase{{{1, 8, 15}, {8, 4, 3}, true, 1, {2}, {1, 2}, {2}}},
        TransposeCase{{{1, 8, 15}, {8, 4, 5}, true, 1, {6}, {1, 2}, {4}}},
        TransposeCase{{{1, 8, 15, 6}, {8, 4, 5, 2}, true, 1, {2, 3}, {}, {3, 5}}},
        // Depthwise, with few phases and with many; groups.
        TransposeCase{{{1, 20, 30}, {20, 1, 12}, true, 20, {2}, {5, 5}}},
        TransposeCase{{{1, 20, 9, 8}, {20, 1, 4, 4}, true, 20, {2, 2}, {1, 1, 1, 1}}},
        TransposeCase{{{1, 5, 4, 3}, {5, 1, 16, 16}, false, 5, {8, 8}, {4, 4, 4, 4}}},
        TransposeCase{{{2, 12, 30}, {12, 5, 6}, true, 3, {3}, {1, 2}}},
        // Three axes.
        TransposeCase{{{1, 6, 4, 5, 6}, {6, 7, 2, 3, 4}, true, 1, {2, 2, 2}, {0, 1, 1, 0, 1, 1}}},
        // The shape of y from the attributes: cut, and longer than the kernel reaches.
        TransposeCase{{{1, 3, 10}, {3, 4, 5}, true, 1, {3}, {}, {}, "SAME_UPPER"}},
        TransposeCase{{{1, 3, 10}, {3, 4, 5}, true, 1, {3}, {}, {}, "SAME_LOWER"}},
        TransposeCase{{{1, 3, 10}, {3, 4, 5}, true, 1, {3}, {1, 1}, {}, "VALID"}},
        TransposeCase{{{1, 3, 10}, {3, 4, 5}, true, 1, {3}}, {}, {27}},
        TransposeCase{{{1, 3, 10}, {3, 4, 5}, true, 1, {3}}, {}, {45}},
        TransposeCase{{{1, 3, 2}, {3, 4, 2}, true, 1, {1}}, {}, {70000}},
        TransposeCase{{{1, 3, 2}, {3, 4, 2}, true, 1, {2}}, {}, {1}},
        // No output.
        TransposeCase{{{1, 3, 2}, {3, 4, 2}, true, 1, {2}, {2, 2}}},
        TransposeCase{{{1, 3, 2}, {3, 0, 2}, true, 1, {2}}}));

TEST(ConvTransposeKernel, AgreesWithReferenceOnRandomWindows) {
  std::mt19937 generator(Seed());
  const auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(generator);
  };
  for (int i = 0; i < 150; ++i) {
    const int64_t axes = draw(1, 3);
    const int64_t group = draw(1, 3);
    TransposeCase param = {{{draw(1, 2), group * draw(1, 9)}, {}, draw(0, 1) == 1, group}};
    Case& conv = param.conv;
    conv.w = {conv.x[1], draw(1, 20)};
    conv.pads.resize(2 * axes);
    for (int64_t axis = 0; axis < axes; ++axis) {
      conv.x.push_back(draw(1, 12));
      conv.w.push_back(draw(1, 6));
      conv.strides.push_back(draw(1, 5));
      conv.dilations.push_back(draw(1, 4));
      const int64_t full = conv.strides.back() * (conv.x.back() - 1) +
                           (conv.w.back() - 1) * conv.dilations.back() + 1;
      conv.pads[axis] = draw(0, full - 1);
      conv.pads[axes + axis] = draw(0, full - 1 - conv.pads[axis]);
      param.output_padding.push_back(draw(0, 3));
    }
    const OpTester op = Transpose(param, DataType::kFloat, draw(0, 1) == 1, generator);
    // At most 9 * 6^3 terms.
    ExpectClose(op.Kernel().value()[0], op.Reference().value()[0], 2000 * kEpsilon);
  }
}

TEST(ConvTransposeKernel, BitsDoNotDependOnThreadsOrTheBatch) {
  const TransposeCase cases[] = {{{{3, 64, 300}, {64, 32, 16}, true, 1, {8}, {4, 4}}},
                                 {{{3, 32, 20, 30}, {32, 24, 4, 4}, true, 1, {2, 2}, {1, 1, 1, 1}}},
                                 {{{3, 32, 20, 30}, {32, 1, 2, 2}, true, 1, {2, 2}}},
                                 {{{3, 32, 500}, {32, 1, 12}, true, 32, {2}, {5, 5}}}};
  for (const TransposeCase& param : cases) {
    const auto run = [&](int64_t image, int threads) {
      const Threads scope(threads);
      std::mt19937 generator(1);
      TransposeCase one = param;
      const Tensor x = RandomFloats(param.conv.x, generator);
      const Tensor w = RandomFloats(param.conv.w, generator);
      OpTester op("ConvTranspose", 11);
      SetAttributes(param.conv, op);
      if (image < 0) return op.Input(x).Constant(w).Kernel().value()[0];
      one.conv.x[0] = 1;
      const int64_t size = NumElements(one.conv.x).value();
      const absl::Span<const float> part(x.data<float>() + image * size, size);
      return op.Input(Tensor::Of<float>(one.conv.x, part).value()).Constant(w).Kernel().value()[0];
    };
    const Tensor all = run(-1, 1);
    for (const int threads : {2, 3}) ExpectClose(run(-1, threads), all, 0);
    for (int64_t image = 0; image < param.conv.x[0]; ++image) {
      const Tensor y = run(image, 2);
      EXPECT_EQ(std::memcmp(y.raw(), all.data<float>() + image * y.num_elements(), y.byte_size()),
                0);
    }
  }
}

TEST(ConvTransposeTest, OutputShapeSetsThePads) {
  OpTester op("ConvTranspose", 11);
  op.Attribute("output_shape", Ints{5}).Attribute("strides", Ints{2});
  op.Input(Make<float>({1, 1, 3}, {1, 2, 3})).Input(Make<float>({1, 1, 2}, {1, 10}));
  op.Input(Make<float>({1}, {100}));
  // 1 10 2 20 3 30 without its first element.
  ExpectClose(op.Reference().value()[0], Make<float>({1, 1, 5}, {110, 102, 120, 103, 130}), 0);
  EXPECT_EQ(Message({{1, 1, 2}, {1, 1, 1}, false, 1, {}, {2, 2}}, "ConvTranspose"),
            "expected pads of at most 2 elements along spatial axis 0, but found 2 and 2");
}

TEST(ConvIntegerTest, PaddingCountsAsTheZeroPoint) {
  OpTester op("ConvInteger", 10);
  op.Attribute("pads", Ints{1, 0});
  op.Input(Make<uint8_t>({1, 1, 2}, {3, 255})).Input(Make<int8_t>({2, 1, 2}, {1, 2, -128, 4}));
  op.Input(Make<uint8_t>({}, {2})).Input(Make<int8_t>({2}, {0, 1}));
  // x - 2 = [1, 253]; w = [1, 2], [-129, 3]
  ExpectClose(op.Reference().value()[0], Make<int32_t>({1, 2, 2}, {2, 507, 3, 630}), 0);
}

}  // namespace
}  // namespace attnrun::testing
