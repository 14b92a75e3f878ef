// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/head_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "attnrun/shape.h"

namespace attnrun::testing {
namespace {

ops::HeadLayout Parsed(absl::string_view text) { return ops::HeadLayout::Parse(text).value(); }

TEST(HeadLayoutTest, TextRoundTrips) {
  for (const char* text :
       {"b n s h", "b s 32+(n:4 h:8)", "b s 8+(n:4 _:3 h:8)", "(b n:4) s h", "s (n:4 h:8)",
        "1+(_:3) b n s h", "b s (n h:8)", "2+() b n s h", "(h:5)", ""}) {
    EXPECT_EQ(Parsed(text).ToString(), text);
  }
  EXPECT_EQ(Parsed("  (b) 0+( n:4  h )").ToString(), "b (n:4 h)");
  ops::HeadLayout built;
  built.axes = {{0, {{'b'}}}, {0, {{'s'}}}, {32, {{'n', 4}, {'h', 8}}}};
  EXPECT_EQ(built, Parsed("b s 32+(n:4 h:8)"));
  EXPECT_EQ(Parsed(built.ToString()), built);
}

struct Place {
  const char* layout;
  Shape shape;
  // Batch, sequence, heads, head size, offset, and the strides of batch, sequence, head and
  // channel.
  std::vector<int64_t> expected;
};

TEST(HeadLayoutTest, ResolvesTheHeadsOfATensor) {
  const Place cases[] = {
      {"b n s h", {2, 3, 5, 7}, {2, 5, 3, 7, 0, 105, 7, 35, 1}},
      {"b s 32+(n:4 h:8)", {2, 5, 96}, {2, 5, 4, 8, 32, 480, 96, 8, 1}},
      {"b s 8+(n:4 _:3 h:8)", {2, 5, 96}, {2, 5, 4, 8, 8, 480, 96, 24, 1}},
      {"b s 8+(n _:3 h:8)", {2, 5, 96}, {2, 5, 4, 8, 8, 480, 96, 24, 1}},
      {"(b n:4) s h", {8, 5, 3}, {2, 5, 4, 3, 0, 60, 3, 15, 1}},
      {"s (n:4 h)", {5, 12}, {-1, 5, 4, 3, 0, 0, 12, 3, 1}},
      {"1+(_:3) b n s h", {3, 2, 4, 5, 6}, {2, 5, 4, 6, 240, 120, 6, 30, 1}},
      {"2+() b n h s", {3, 2, 4, 5, 6}, {2, 6, 4, 5, 480, 120, 1, 30, 6}},
      {"b s", {2, 5}, {2, 5, -1, 1, 0, 5, 1, 0, 1}},
      {"(b n:4) s h", {0, 5, 3}, {0, 5, 4, 3, 0, 60, 3, 15, 1}},
  };
  for (const Place& c : cases) {
    SCOPED_TRACE(c.layout);
    const auto view = Parsed(c.layout).Resolve(c.shape);
    ASSERT_TRUE(view.ok()) << view.status();
    const ops::HeadStrides& strides = view->strides;
    EXPECT_EQ(
        (std::vector<int64_t>{view->batch, view->sequence, view->heads, view->size, view->offset,
                              strides.batch, strides.sequence, strides.head, strides.channel}),
        c.expected);
  }
}

TEST(HeadLayoutTest, UsesTheStridesOfTheTensor) {
  const ops::HeadView view = Parsed("b 3+(s:2 h:4)").Resolve({5, 20}, {1, 10}).value();
  EXPECT_EQ(view.offset, 30);
  EXPECT_EQ(view.strides.batch, 1);
  EXPECT_EQ(view.strides.sequence, 40);
  EXPECT_EQ(view.strides.channel, 10);
}

TEST(HeadLayoutTest, ParseErrorsQuoteTheTextAndTheExpectation) {
  const std::pair<const char*, const char*> cases[] = {
      {"b x", "layout 'b x': expected a role (b, s, n or h), '(' or an offset, but found 'x'"},
      {"b (n", "layout 'b (n': expected a role (b, s, n or h), '_' or ')', but found its end"},
      {"b (n:)", "layout 'b (n:)': expected a number, but found ')'"},
      {"3(n)", "layout '3(n)': expected '+', but found '(n)'"},
      {"3+n", "layout '3+n': expected '(', but found 'n'"},
      {"bs", "layout 'bs': expected a blank, but found 's'"},
      {"(n:9223372036854775808)",
       "layout '(n:9223372036854775808)': expected a number below 2^63, but found '8)'"},
      {"b b", "layout 'b b': role 'b' has more than one place"},
      {"(n h)", "layout '(n h)': more than one factor of (n h) lacks its size"},
      {"(n:4 _)", "layout '(n:4 _)': a gap needs a size"},
      {"(n:0 h)", "layout '(n:0 h)': size 0 of 'n' is below 1"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_EQ(ops::HeadLayout::Parse(text).status().message(), message);
  }
}

TEST(HeadLayoutTest, BuiltLayoutsAreChecked) {
  ops::HeadLayout layout;
  layout.axes = {{-1, {{'b'}}}};
  EXPECT_EQ(layout.Resolve({2}).status().message(), "layout '-1+(b)': offset -1 is negative");
  layout.axes = {{0, {{'q'}}}};
  EXPECT_EQ(layout.Check().message(), "layout '(q)': unknown role 'q'");
}

TEST(HeadLayoutTest, ShapeErrorsNameLayoutAndShape) {
  EXPECT_EQ(Parsed("b s h").Resolve({2, 3}).status().message(),
            "layout 'b s h' has 3 axes, but the shape is [2,3]");
  const std::pair<const char*, int64_t> cases[] = {
      {"(n:4 h)", 10},  {"(n:4 h:8)", 31},      {"1+(n:4 h:8)", 32},
      {"3+()", 3},      {"24+(n _:3 h:8)", 96}, {"(n:4294967296 s:4294967296 h:2)", 8},
      {"(n:4 h:8)", 0},
  };
  for (const auto& [text, extent] : cases) {
    SCOPED_TRACE(text);
    const absl::Status status = Parsed(text).Resolve({extent}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(), absl::StrCat("layout '", text, "': ", text,
                                             " does not fit axis 0 of shape [", extent, "]"));
  }
}

TEST(HeadLayoutTest, ResolvesSymbolicExtents) {
  const SymInt batch = SymInt::Symbol("batch");
  const SymInt length = SymInt::Symbol("length");
  const ops::HeadLayout layout = Parsed("(b n:4) s 8+(h _:2)");
  const std::vector<SymInt> dims = {batch * 4, length, 64};
  EXPECT_EQ(layout.Extent('b', dims), batch);
  EXPECT_EQ(layout.Extent('n', dims), SymInt(4));
  EXPECT_EQ(layout.Extent('s', dims), length);
  EXPECT_EQ(layout.Extent('h', dims), SymInt(32));
  EXPECT_EQ(Parsed("s h").Extent('b', {length, 4}), std::nullopt);
  EXPECT_NE(layout.Extent('b', {batch, length, 64}), batch);
}

}  // namespace
}  // namespace attnrun::testing
