// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>

#include "core/elements.h"
#include "core/parallel.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using ::testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr const char* kAll[] = {"ReduceSum",       "ReduceMean",     "ReduceMax", "ReduceMin",
                                "ReduceProd",      "ReduceL1",       "ReduceL2",  "ReduceLogSum",
                                "ReduceLogSumExp", "ReduceSumSquare"};

OpTester Reduction(const char* name, Tensor x, const std::vector<int64_t>& axes) {
  OpTester op(name, 20);
  const auto count = static_cast<int64_t>(axes.size());
  op.Input(std::move(x)).Input(Make<int64_t>({count}, axes));
  return op;
}

TEST(ReduceTest, KernelAgreesWithReference) {
  std::mt19937 generator(Seed());
  struct {
    std::vector<int64_t> shape, axes;
    DataType type = DataType::kFloat;
  } cases[] = {
      {{2, 3, 100}, {-1}},
      {{2, 3, 100}, {1}},
      {{5, 7}, {0, 1}},
      {{7, 3, 2}, {-1}},
      {{33, 31}, {-1}},
      {{1, 3}, {-1}},
      {{19, 5}, {1}, DataType::kFloat16},
      {{3, 4, 5, 6}, {0, 2}},
      {{3, 4, 5, 6}, {1, 3}},
      {{2, 1, 3}, {1}},
      {{3, 130}, {0}},
      {{2, 1, 1}, {2, -2}},
      {{}, {}},
      {{7, 33}, {1}, DataType::kFloat16},
      {{7, 33}, {0}, DataType::kBfloat16},
      {{3, 4, 5}, {0, 2}, DataType::kInt64},
      {{3, 4, 5}, {1}, DataType::kInt32},
  };
  for (const auto& c : cases) {
    for (const char* name : kAll) {
      const bool floats = IsFloatingPoint(c.type);
      Tensor x = floats ? Converted(RandomFloats(c.shape, generator, 2), c.type)
                        : RandomInts(c.type, c.shape, generator, -100, 100);
      // The logarithm of a sum has no bound on its relative error near a sum of 0.
      if (std::string(name) == "ReduceLogSum") {
        x = RandomInts(c.type == DataType::kInt64 ? c.type : DataType::kInt32, c.shape, generator,
                       1, 9);
        if (floats) x = Converted(x, c.type);
      }
      OpTester op = Reduction(name, x, c.axes);
      SCOPED_TRACE(::testing::Message() << name << " " << TypeAndShape(x));
      const auto kernel = op.Kernel();
      if (!floats && kernel.status().code() == absl::StatusCode::kFailedPrecondition) continue;
      // At most 130 terms of up to 100; the sum of their absolute values bounds each rounding.
      const double tolerance = c.type == DataType::kFloat ? 2000 * kEpsilon : Epsilon(c.type);
      ExpectClose(kernel.value()[0], op.Reference().value()[0], tolerance);
    }
  }
}

TEST(ReduceTest, IsAccurateOverLongRows) {
  std::mt19937 generator(Seed());
  constexpr int64_t kLength = 100000;
  for (const int64_t axis : {0, 1}) {
    const Tensor x = RandomFloats(
        axis == 0 ? std::vector<int64_t>{kLength, 3} : std::vector<int64_t>{3, kLength}, generator);
    OpTester op = Reduction("ReduceSumSquare", x, {axis});
    // Roundings of positive terms add up like a random walk.
    ExpectClose(op.Kernel().value()[0], op.Reference().value()[0],
                3 * std::sqrt(kLength) * kEpsilon);
  }
}

TEST(ReduceTest, AcceptsTheAxesOfEachVersion) {
  const Tensor x = Make<float>({2, 2}, {1, 2, 3, 4});
  struct {
    const char* name;
    int opset;
    std::optional<std::vector<int64_t>> attribute, input;
    int64_t keepdims, noop;
    Tensor expected;
  } cases[] = {
      {"ReduceSum", 11, {{-1}}, {}, 1, 0, Make<float>({2, 1}, {3, 7})},
      {"ReduceSum", 11, {}, {}, 0, 0, Make<float>({}, {10})},
      {"ReduceMean", 13, {{0}}, {}, 0, 0, Make<float>({2}, {2, 3})},
      {"ReduceSum", 13, {}, {{0}}, 1, 0, Make<float>({1, 2}, {4, 6})},
      {"ReduceSum", 13, {}, {std::vector<int64_t>{}}, 1, 0, Make<float>({1, 1}, {10})},
      {"ReduceSum", 13, {}, {std::vector<int64_t>{}}, 1, 1, x},
      {"ReduceSumSquare", 18, {}, {}, 0, 1, Make<float>({2, 2}, {1, 4, 9, 16})},
      {"ReduceMax", 18, {}, {{-2, 1}}, 0, 0, Make<float>({}, {4})},
  };
  for (const auto& c : cases) {
    OpTester op(c.name, c.opset);
    op.Input(x).Attribute("keepdims", c.keepdims);
    if (c.attribute.has_value()) op.Attribute("axes", *c.attribute);
    if (c.noop != 0) op.Attribute("noop_with_empty_axes", c.noop);
    if (c.input.has_value()) {
      op.Input(Make<int64_t>({static_cast<int64_t>(c.input->size())}, *c.input));
    }
    ExpectClose(op.Reference().value()[0], c.expected, 0);
    ExpectClose(op.Kernel().value()[0], c.expected, 0);
  }
}

TEST(ReduceTest, EmptyAxesGiveTheNeutralElement) {
  const float expected[] = {0, NAN, -kInf, kInf, 1, 0, 0, -kInf, -kInf, 0};
  for (size_t i = 0; i < std::size(kAll); ++i) {
    OpTester op = Reduction(kAll[i], Make<float>({2, 0}, {}), {1});
    ExpectClose(op.Reference().value()[0], Make<float>({2, 1}, {expected[i], expected[i]}), 0);
  }
  ExpectClose(Reduction("ReduceMax", Make<int8_t>({0}, {}), {0}).Reference().value()[0],
              Make<int8_t>({1}, {-128}), 0);
  ExpectClose(Reduction("ReduceMin", Make<uint64_t>({0}, {}), {0}).Reference().value()[0],
              Make<uint64_t>({1}, {~uint64_t{0}}), 0);
  ExpectClose(Reduction("ReduceMin", MakeBool({0}, {}), {0}).Reference().value()[0],
              MakeBool({1}, {1}), 0);
  ExpectClose(Reduction("ReduceMean", Make<int32_t>({0}, {}), {0}).Reference().value()[0],
              Make<int32_t>({1}, {0}), 0);
}

TEST(ReduceTest, PropagatesInfinitiesAndNaN) {
  const Tensor x = Make<float>({4, 2}, {NAN, 1, kInf, 2, -kInf, -kInf, 1, NAN});
  struct {
    const char* name;
    std::vector<float> expected;
  } cases[] = {{"ReduceMax", {NAN, kInf, -kInf, NAN}},
               {"ReduceMin", {NAN, 2, -kInf, NAN}},
               {"ReduceLogSumExp", {NAN, kInf, -kInf, NAN}}};
  for (const auto& c : cases) {
    const Tensor expected = Make<float>({4, 1}, c.expected);
    OpTester rows = Reduction(c.name, x, {1});
    ExpectClose(rows.Reference().value()[0], expected, 0);
    ExpectClose(rows.Kernel().value()[0], expected, 0);
    const Tensor columns = Make<float>({2, 4}, {NAN, kInf, -kInf, 1, 1, 2, -kInf, NAN});
    OpTester down = Reduction(c.name, columns, {0});
    ExpectClose(down.Kernel().value()[0], Make<float>({1, 4}, c.expected), 0);
  }
}

TEST(ReduceTest, LogarithmsOfSumsOfAtMost0AreNoNumbers) {
  OpTester op = Reduction("ReduceLogSum", Make<float>({3, 2}, {1, -3, 2, -2, -kInf, 1}), {1});
  const Tensor expected = Make<float>({3, 1}, {NAN, -kInf, NAN});
  ExpectClose(op.Reference().value()[0], expected, 0);
  ExpectClose(op.Kernel().value()[0], expected, 0);
}

TEST(ReduceTest, IntegersAreExact) {
  struct {
    const char* name;
    Tensor x, expected;
  } cases[] = {
      {"ReduceMax", Make<uint64_t>({2}, {uint64_t{1} << 63, 5}),
       Make<uint64_t>({1}, {uint64_t{1} << 63})},
      {"ReduceSum", Make<int64_t>({2}, {(int64_t{1} << 53) + 1, 2}),
       Make<int64_t>({1}, {(int64_t{1} << 53) + 3})},
      {"ReduceProd", Make<int64_t>({2}, {int64_t{1} << 62, 4}), Make<int64_t>({1}, {0})},
      {"ReduceMean", Make<int32_t>({3}, {-1, -2, -2}), Make<int32_t>({1}, {-1})},
      {"ReduceL1", Make<int64_t>({1}, {std::numeric_limits<int64_t>::min()}),
       Make<int64_t>({1}, {std::numeric_limits<int64_t>::min()})},
      {"ReduceMax", MakeBool({2}, {0, 1}), MakeBool({1}, {1})},
  };
  for (const auto& c : cases) {
    OpTester op = Reduction(c.name, c.x, {0});
    ExpectClose(op.Reference().value()[0], c.expected, 0);
    if (op.Kernel().ok()) ExpectClose(op.Kernel().value()[0], c.expected, 0);
  }
}

TEST(ReduceTest, BitsDoNotDependOnThreads) {
  std::mt19937 generator(Seed());
  const Tensor x = RandomFloats({37, 50, 41}, generator);
  for (const std::vector<int64_t>& axes : {std::vector<int64_t>{2}, {1}, {0, 2}}) {
    OpTester op = Reduction("ReduceSum", x, axes);
    const int before = NumThreads();
    SetNumThreads(1);
    const Tensor one = op.Kernel().value()[0];
    SetNumThreads(3);
    ExpectClose(op.Kernel().value()[0], one, 0);
    SetNumThreads(before);
  }
}

TEST(ReduceTest, BitsOfShortRowsDoNotDependOnOtherRows) {
  std::mt19937 generator(Seed());
  const Tensor x = RandomFloats({37, 7}, generator);
  for (const char* name : kAll) {
    const Tensor all = Reduction(name, x, {1}).Kernel().value()[0];
    for (const int64_t row : {0, 9, 36}) {
      const Tensor alone = x.View({1, 7}, {7, 1}, row * 7).Dense().value();
      ExpectClose(Reduction(name, alone, {1}).Kernel().value()[0],
                  all.View({1, 1}, {1, 1}, row).Dense().value(), 0);
    }
  }
}

TEST(ReduceTest, ErrorsSayWhatIsWrong) {
  const Tensor x = Make<float>({2, 2}, {1, 2, 3, 4});
  struct {
    const char* name;
    Tensor x, axes;
    const char* message;
  } cases[] = {
      {"ReduceSum", x, Make<int64_t>({1}, {2}), "axis 2 is outside [-2,1]"},
      {"ReduceSum", x, Make<int32_t>({1}, {0}), "expected axes to be int64[n]"},
      {"ReduceSum", x, Make<int64_t>({1, 1}, {0}), "expected axes to be int64[n]"},
      {"ReduceSum", MakeBool({1}, {1}), Make<int64_t>({1}, {0}), "cannot reduce elements of bool"},
      {"ReduceMax", Make<std::string>({1}, {"a"}), Make<int64_t>({1}, {0}), "of string"},
      {"ReduceSum", Make<float>({0, int64_t{1} << 60}, {}), Make<int64_t>({1}, {0}), ""},
  };
  for (const auto& c : cases) {
    OpTester op(c.name, 20);
    op.Input(c.x).Input(c.axes);
    ASSERT_FALSE(op.Reference().ok());
    EXPECT_THAT(std::string(op.Reference().status().message()), HasSubstr(c.message));
    EXPECT_FALSE(op.Kernel().ok());
  }
}

}  // namespace
}  // namespace attnrun::testing
