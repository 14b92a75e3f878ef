// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/elements.h"
#include "tools/attnrun/fma_peak.h"
#include "tools/attnrun/json.h"
#include "tools/attnrun/latency.h"
#include "tools/attnrun/profile_table.h"
#include "tools/attnrun/summary.h"
#include "tools/attnrun/table.h"
#include "tools/attnrun/utf.h"

namespace attnrun::cli {
namespace {

using ::testing::ElementsAre;

absl::Duration Ms(double ms) { return absl::Milliseconds(ms); }

TEST(LatencyTest, PercentilesInterpolate) {
  const std::vector<absl::Duration> times = {Ms(4), Ms(1), Ms(3), Ms(2)};
  EXPECT_EQ(Percentile(times, 0), Ms(1));
  EXPECT_EQ(Percentile(times, 50), Ms(2.5));
  EXPECT_EQ(Percentile(times, 100), Ms(4));
  EXPECT_EQ(Percentile({Ms(7)}, 99), Ms(7));
}

TEST(LatencyTest, PeakMemoryGrowsWithTouchedPages) {
  const double before = PeakMemoryMb();
  EXPECT_GT(before, 1);
  const std::vector<char> block(64 << 20, 1);
  EXPECT_GT(PeakMemoryMb(), before + 32) << block[12345];
}

TEST(ProfileTableTest, NodesOfSubgraphsAreNotCountedTwice) {
  // An If of 10 ms whose branch has two nodes, and one node after it.
  const std::vector<ProfileEvent> events = {{"a", "Add", "highway", Ms(1), Ms(2), 0},
                                            {"b", "MatMul", "brgemm", Ms(3), Ms(4), 8000},
                                            {"if", "If", "reference", Ms(0), Ms(10), 0},
                                            {"c", "Add", "highway", Ms(10), Ms(1), 0}};
  EXPECT_THAT(SelfTimes(events), ElementsAre(Ms(2), Ms(4), Ms(4), Ms(1)));
  ProfileTable table;
  table.Add(events);
  table.Add(events);
  EXPECT_EQ(table.Total(), Ms(11));
  EXPECT_EQ(table.ByNode().size(), 4);
  const std::vector<ProfileRow> ops = table.ByOp();
  ASSERT_EQ(ops.size(), 3);
  EXPECT_EQ(ops[2].op_type, "Add");
  EXPECT_EQ(ops[2].time, Ms(3));
  EXPECT_EQ(ops[2].calls, 2);
  EXPECT_EQ(ops[0].op_type, "MatMul");
  EXPECT_EQ(ops[0].flops, 8000);
  const Json trace = ChromeTrace(events);
  EXPECT_EQ(trace["traceEvents"].size(), 4);
  EXPECT_EQ(trace["traceEvents"][1]["dur"], 4000);
  EXPECT_EQ(trace["traceEvents"][1]["args"]["node"], "b");
}

TEST(FmaPeakTest, IsWithinReason) {
  const FmaPeak peak = MeasureFmaPeak(1);
  // The bounds stand for a tenth of an operation per cycle and for 256 of them, at 1 to 8 GHz.
  EXPECT_GT(peak.gflops, 0.1);
  EXPECT_LT(peak.gflops, 2048);
  EXPECT_FALSE(peak.isa.empty());
}

TEST(SummaryTest, FiguresUseFiniteElementsOnly) {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor tensor =
      FromDoubles(DataType::kFloat, {8}, {1, -3, NAN, inf, -inf, 0.5, 0, 0}).value();
  EXPECT_EQ(SummaryText(tensor).value(), "min -3  max 1  mean -0.3  1 nan  2 inf");
  const Json json = SummaryJson("x", tensor).value();
  EXPECT_EQ(JsonText({{"min", json["min"]}, {"nan", json["nan"]}, {"inf", json["inf"]}}),
            "{\n  \"min\": -3.0,\n  \"nan\": 1,\n  \"inf\": 2\n}");
  const Tensor nothing = FromDoubles(DataType::kFloat, {1}, {NAN}).value();
  EXPECT_TRUE(SummaryJson("x", nothing)->at("max").is_null());
  const Tensor ids = Tensor::Of<int64_t>({3}, {5, 32000, -1}).value();
  EXPECT_EQ(SummaryText(ids).value(), "5 32000 -1");
  EXPECT_EQ(SummaryJson("x", ids)->at("max").dump(), "32000");
}

TEST(SummaryTest, FiguresCoverAllPieces) {
  std::vector<double> values(3 << 20, 0.0);
  values.front() = -2;
  values.back() = 2;
  const Tensor tensor = FromDoubles(DataType::kFloat, {3 << 20}, values).value();
  EXPECT_THAT(SummaryText(tensor).value(), ::testing::StartsWith("min -2  max 2  mean "));
}

TEST(TableTest, LongCellsAreShortened) {
  Table table("ll");
  table.Add({std::string(1 << 20, 'n'), "1"});
  table.Add({"a", "10"});
  EXPECT_LT(table.Text().size(), 2200U);
}

TEST(TableTest, ColumnsAlignAndControlCharactersAreEscaped) {
  Table table("lr");
  table.Add({"gr\xC3\xBC\xC3\x9F", "1"});
  table.Add({"a\x1b[2J", "10"});
  EXPECT_EQ(table.Text(), "gr\xC3\xBC\xC3\x9F       1\na\\x1b[2J  10\n");
}

TEST(UtfTest, OnlyWellFormedTextIsDecoded) {
  for (const char* good : {"", "a", "\xC3\xBC", "\xE2\x82\xAC", "\xF0\x9F\x99\x82"}) {
    const std::optional<std::u32string> text = FromUtf8(good);
    ASSERT_TRUE(text.has_value()) << good;
    EXPECT_EQ(ToUtf8(*text), good);
  }
  // A lone continuation byte, overlong forms, a surrogate, code points beyond U+10FFFF, truncated
  // characters.
  for (const char* bad : {"\x80", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80",
                          "\xF5\x80\x80\x80", "\xE2\x82", "\xC3("}) {
    EXPECT_FALSE(FromUtf8(bad).has_value()) << Printable(bad);
  }
  EXPECT_EQ(Printable("\xFF"), "\\xff");
}

}  // namespace
}  // namespace attnrun::cli
