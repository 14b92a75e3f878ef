// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <numbers>

#include "core/elements.h"
#include "core/parallel.h"
#include "support/any_type.h"

namespace attnrun::testing {
namespace {

using Complex = std::complex<double>;

// The definition: n sums of n terms.
std::vector<double> Naive(const std::vector<double>& signal, int64_t n, bool inverse) {
  std::vector<double> result;
  for (int64_t k = 0; k < n; ++k) {
    Complex sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(i * k % n) / n;
      sum += Complex(signal[2 * i], signal[2 * i + 1]) * std::polar(1.0, inverse ? angle : -angle);
    }
    if (inverse) sum /= static_cast<double>(n);
    result.push_back(sum.real());
    result.push_back(sum.imag());
  }
  return result;
}

TEST(DftTest, AgreesWithTheDefinitionForEveryKindOfLength) {
  std::mt19937 generator(Seed());
  for (const int64_t n : {1, 2, 3, 7, 16, 60, 49, 101, 400}) {
    for (const int64_t inverse : {0, 1}) {
      const std::vector<double> signal = ToDoubles(RandomFloats({n, 2}, generator)).value();
      OpTester op("DFT", 20);
      op.Attribute("inverse", inverse);
      op.Input(FromDoubles(DataType::kDouble, {1, n, 2}, signal).value());
      const Tensor expected =
          FromDoubles(DataType::kDouble, {1, n, 2}, Naive(signal, n, inverse != 0)).value();
      // n products of normal numbers, each within an epsilon of double.
      ExpectClose(op.Reference().value()[0], expected, 1e-14 * static_cast<double>(n));
    }
  }
}

TEST(DftTest, TheInverseOfOneSidedRestoresTheInput) {
  std::mt19937 generator(Seed());
  for (const int64_t n : {1, 2, 5, 8, 15}) {
    for (const int64_t axis : {0, 1}) {
      const Tensor x = RandomFloats(
          axis == 0 ? std::vector<int64_t>{n, 3, 1} : std::vector<int64_t>{3, n, 1}, generator);
      OpTester forward("DFT", 20);
      forward.Attribute("onesided", int64_t{1}).Input(x).NoInput().Input(ScalarInt(axis));
      const Tensor spectrum = forward.Reference().value()[0];
      EXPECT_EQ(spectrum.dim(static_cast<int>(axis)), n / 2 + 1);
      OpTester back("DFT", 20);
      back.Attribute("onesided", int64_t{1}).Attribute("inverse", int64_t{1}).Input(spectrum);
      back.Input(ScalarInt(n)).Input(ScalarInt(axis));
      // Two roundings to float of sums of at most n normal numbers.
      ExpectClose(back.Reference().value()[0], x, 4 * kEpsilon * static_cast<double>(n));
    }
  }
}

TEST(DftTest, LengthsAndErrors) {
  OpTester padded("DFT", 17);
  padded.Input(Make<float>({1, 2, 1}, {1, 1})).Input(ScalarInt(4));
  ExpectClose(padded.Reference().value()[0], Make<float>({1, 4, 2}, {2, 0, 1, -1, 0, 0, 1, 1}),
              kEpsilon);
  OpTester none("DFT", 20);
  none.Input(Make<float>({1, 2, 1}, {1, 1})).Input(ScalarInt(0));
  ExpectError(none,
              "the transform of float[1,2,1] along axis -2 has length 0, expected at least 1");
  OpTester last("DFT", 20);
  last.Input(Make<float>({1, 2, 1}, {1, 1})).NoInput().Input(ScalarInt(-1));
  ExpectError(last, "no transform of float[1,2,1] along axis -1");
  OpTester absurd("DFT", 20);
  absurd.Input(Make<float>({1, 2, 1}, {1, 1})).Input(ScalarInt(INT64_MAX));
  EXPECT_FALSE(absurd.Reference().ok());
}

TEST(StftTest, FramesAreWindowedTransforms) {
  std::mt19937 generator(Seed());
  const Tensor x = RandomFloats({2, 50, 1}, generator);
  const Tensor window = RandomFloats({16}, generator);
  OpTester op("STFT", 17);
  op.Attribute("onesided", int64_t{0}).Input(x).Input(ScalarInt(7)).Input(window);
  const Tensor y = op.Reference().value()[0];
  ASSERT_EQ(TypeAndShape(y), "float[2,5,16,2]");
  std::vector<double> frame;
  for (int64_t i = 0; i < 16; ++i) {
    frame.push_back(double{x.data<float>()[50 + 14 + i]} * window.data<float>()[i]);
    frame.push_back(0);
  }
  const std::vector<double> expected = Naive(frame, 16, false);
  const std::vector<double> actual = ToDoubles(y).value();
  for (int64_t i = 0; i < 32; ++i) {
    EXPECT_NEAR(actual[(5 + 2) * 32 + i], expected[i], 32 * kEpsilon) << i;
  }
  for (const int64_t step : {int64_t{0}, INT64_MIN}) {
    OpTester still("STFT", 17);
    still.Input(x).Input(ScalarInt(step)).Input(window);
    EXPECT_FALSE(still.Reference().ok());
  }
  OpTester wide("STFT", 17);
  wide.Input(x).Input(ScalarInt(1)).NoInput().Input(ScalarInt(51));
  ExpectError(wide, "frames of length 51 at steps of 1 do not fit float[2,50,1]");
}

// Found by the fuzzer of operators.
TEST(StftTest, AHugeStepGivesOneFrame) {
  std::mt19937 generator(Seed());
  OpTester op("STFT", 17);
  op.Input(RandomFloats({2, 16, 1}, generator)).Input(ScalarInt(INT64_MAX));
  op.Input(RandomFloats({16}, generator));
  const Tensor expected = op.Reference().value()[0];
  EXPECT_EQ(TypeAndShape(expected), "float[2,1,9,2]");
  ExpectClose(op.Kernel().value()[0], expected, 32 * kEpsilon);
}

TEST(StftTest, TakesASignalWithoutAnAxisOfParts) {
  std::mt19937 generator(Seed());
  const Tensor x = RandomFloats({2, 50}, generator);
  const auto run = [&](const std::vector<int64_t>& shape) {
    OpTester op("STFT", 17);
    op.Input(Tensor::Borrow(DataType::kFloat, shape, x.raw(), x.byte_size()).value());
    return op.Input(ScalarInt(5)).NoInput().Input(ScalarInt(8)).Reference().value()[0];
  };
  ExpectSame(run({2, 50}), run({2, 50, 1}));
  OpTester one("STFT", 17);
  one.Input(Make<float>({3}, {1, 2, 3})).Input(ScalarInt(1));
  ExpectError(one,
              "the signal must be floats [batch, length, 1 or 2] or [batch, length], but is "
              "float[3]");
}

// A sum of n terms in log2(n) steps of a few roundings each, of normal numbers (at most 5).
double FftTolerance(int64_t n) {
  const double terms = static_cast<double>(n);
  return 5 * kEpsilon * std::sqrt(terms) * (4 + 2 * std::log2(terms));
}

TEST(DftKernelTest, AgreesWithReference) {
  std::mt19937 generator(Seed());
  for (const int64_t n : {1, 2, 3, 4, 5, 8, 12, 15, 16, 30, 49, 60, 64, 101, 128, 210, 400, 512}) {
    for (const std::vector<int64_t>& around :
         {std::vector<int64_t>{1, 1}, {3, 1}, {1, 5}, {2, 19}, {40, 1}}) {
      for (const int64_t width : {1, 2}) {
        for (const bool inverse : {false, true}) {
          for (const bool one_sided : {false, true}) {
            if (one_sided && width != (inverse ? 2 : 1)) continue;
            OpTester op("DFT", 20);
            op.Attribute("inverse", int64_t{inverse}).Attribute("onesided", int64_t{one_sided});
            op.Input(RandomFloats({around[0], n, around[1], width}, generator));
            // Cut, filled with zeros or as it is.
            const int64_t length = std::vector<int64_t>{n, n + 3, n / 2 + 1}[generator() % 3];
            op.Input(ScalarInt(length)).Input(ScalarInt(1));
            ExpectClose(op.Kernel().value()[0], op.Reference().value()[0],
                        FftTolerance(length + 1));
          }
        }
      }
    }
  }
}

TEST(StftKernelTest, AgreesWithReference) {
  std::mt19937 generator(Seed());
  for (const int64_t length : {1, 2, 7, 20, 64, 100, 400}) {
    for (const int64_t width : {0, 1, 2}) {
      for (const bool one_sided : {false, true}) {
        std::vector<int64_t> shape = {2, 900};
        if (width > 0) shape.push_back(width);
        const DataType type = width == 0 ? DataType::kFloat16 : DataType::kFloat;
        OpTester op("STFT", 17);
        op.Attribute("onesided", int64_t{one_sided});
        op.Input(Converted(RandomFloats(shape, generator), type));
        op.Input(ScalarInt(static_cast<int64_t>(generator() % 40) + 1));
        if (length % 2 == 0) {
          op.Input(Converted(RandomFloats({length}, generator), type));
        } else {
          op.NoInput().Input(ScalarInt(length));
        }
        // The window's numbers are normal ones, too.
        ExpectClose(op.Kernel().value()[0], op.Reference().value()[0],
                    Epsilon(type) + 5 * FftTolerance(length + 1));
      }
    }
  }
}

TEST(StftKernelTest, BitsDoNotDependOnThreadsOrTheBatch) {
  std::mt19937 generator(Seed());
  const Tensor x = RandomFloats({3, 2000}, generator);
  const auto run = [](const Tensor& signal, int threads) {
    SetNumThreads(threads);
    OpTester op("STFT", 17);
    op.Input(signal).Input(ScalarInt(50)).NoInput().Input(ScalarInt(400));
    const Tensor y = op.Kernel().value()[0];
    SetNumThreads(1);
    return y;
  };
  const Tensor all = run(x, 1);
  for (const int threads : {2, 5}) ExpectSame(run(x, threads), all);
  for (int64_t i = 0; i < 3; ++i) {
    const absl::Span<const float> sample(x.data<float>() + 2000 * i, 2000);
    const Tensor y = run(Tensor::Of<float>({1, 2000}, sample).value(), 2);
    EXPECT_EQ(std::memcmp(y.raw(), all.data<float>() + i * y.num_elements(), y.byte_size()), 0);
  }
}

TEST(WindowTest, SizesAndTypes) {
  OpTester one("HannWindow", 17);
  ExpectSame(one.Attribute("periodic", int64_t{0}).Input(ScalarInt(1)).Reference().value()[0],
             Make<float>({1}, {1}));
  OpTester hann("HannWindow", 17);
  ExpectClose(hann.Input(ScalarInt(4)).Reference().value()[0], Make<float>({4}, {0, 0.5, 1, 0.5}),
              kEpsilon);
  for (const int64_t size : {int64_t{-1}, INT64_MAX, INT64_MIN}) {
    OpTester absurd("BlackmanWindow", 17);
    EXPECT_FALSE(absurd.Input(ScalarInt(size)).Reference().ok());
  }
}

TEST(MelTest, TrianglesPeakAtOneAndStayInside) {
  OpTester op("MelWeightMatrix", 17);
  op.Input(ScalarInt(8)).Input(ScalarInt(64)).Input(ScalarInt(16000));
  op.Input(Make<float>({}, {0})).Input(Make<float>({}, {20000}));
  const Tensor y = op.Reference().value()[0];
  ASSERT_EQ(TypeAndShape(y), "float[33,8]");
  for (int64_t i = 0; i < y.num_elements(); ++i) {
    EXPECT_GE(y.data<float>()[i], 0);
    EXPECT_LE(y.data<float>()[i], 1);
  }
  OpTester none("MelWeightMatrix", 17);
  none.Input(ScalarInt(INT64_MAX)).Input(ScalarInt(64)).Input(ScalarInt(0));
  none.Input(Make<float>({}, {0})).Input(Make<float>({}, {NAN}));
  ExpectError(none, "upper_edge_hertz must be one finite number, but is float[]");
}

}  // namespace
}  // namespace attnrun::testing
