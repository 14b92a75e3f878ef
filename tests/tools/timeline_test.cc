// SPDX-License-Identifier: Apache-2.0
#include "tools/attnrun/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_split.h"
#include "tools/attnrun/repetition.h"

namespace attnrun::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Repetition Of(const std::string& kinds) { return LongestRepetition(absl::StrSplit(kinds, ' ')); }

TEST(RepetitionTest, FindsLayersBetweenOtherNodes) {
  const Repetition found = Of("e n q a l q a l q a l n p");
  EXPECT_EQ(found.begin, 2);
  EXPECT_EQ(found.period, 3);
  EXPECT_EQ(found.repeats, 3);
}

TEST(RepetitionTest, TakesTheShortestPeriodOfTheLongestStretch) {
  EXPECT_EQ(Of("x y x y x y x y").period, 2);
  EXPECT_EQ(Of("x y x y p q r p q r p q r").period, 3);
}

TEST(RepetitionTest, EqualOrFewNodesAreNoLayers) {
  for (const char* kinds : {"", "a", "a b", "a a a a a", "a b c d"}) {
    EXPECT_EQ(Of(kinds).repeats, 0) << kinds;
  }
}

ProfileRow Row(const std::string& op_type, const std::string& node, double ms, double flops) {
  return {node, op_type, "gemm", absl::Milliseconds(ms), flops, 1};
}

TEST(TimelineTest, ABarIsAsLongAsItsTimeAndAsDarkAsItsShareOfThePeak) {
  // The node takes 3 ms at half of 2 GFLOP/s. The longest line takes 4 ms and is 1,040 pixels long.
  const std::vector<ProfileRow> nodes = {Row("attnrun.Linear", "a", 3, 3e6), Row("Add", "b", 1, 0),
                                         Row("attnrun.Linear", "c", 1, 1e6), Row("Add", "d", 1, 0)};
  const std::string svg = TimelineSvg(nodes, 2, "title");
  EXPECT_THAT(svg, AllOf(HasSubstr(">title<"), HasSubstr("layer 0  4 ms"),
                         HasSubstr("layer 1  2 ms"), HasSubstr("Linear 66.7 %")));
  EXPECT_THAT(svg, HasSubstr("attnrun.Linear  a (gemm): 3.000 ms, 1.0 GFLOP/s, 50 % of peak"));
  EXPECT_THAT(svg, HasSubstr("width=\"779.00\" height=\"26.00\""));
  EXPECT_THAT(svg, HasSubstr("width=\"779.00\" height=\"13.00\""));
}

TEST(TimelineTest, NamesAreEscapedAndNothingIsDividedByZero) {
  const std::string svg = TimelineSvg({Row("A<b>", "x\"&\n", 0, 0)}, 0, "t");
  EXPECT_THAT(svg, AllOf(HasSubstr("A&lt;b&gt;  x\\&quot;&amp;\\n"), HasSubstr("all nodes")));
  EXPECT_THAT(svg, AllOf(Not(HasSubstr("nan")), Not(HasSubstr("inf\""))));
  EXPECT_THAT(TimelineSvg({}, 1, "t"), HasSubstr("</svg>"));
}

}  // namespace
}  // namespace attnrun::cli
