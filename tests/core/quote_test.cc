// SPDX-License-Identifier: Apache-2.0
#include "core/quote.h"

#include <gtest/gtest.h>

namespace attnrun {
namespace {

TEST(QuoteTest, OnlyLongNamesAreShortened) {
  EXPECT_EQ(Quoted(""), "''");
  EXPECT_EQ(Quoted("encoder/MatMul"), "'encoder/MatMul'");
  const std::string longest(200, 'n');
  EXPECT_EQ(Quoted(longest), "'" + longest + "'");
  EXPECT_EQ(Quoted(longest + "n"), "'" + longest + "... (201 bytes)'");
}

TEST(QuoteTest, CharactersAreNotSplit) {
  // One byte, then characters of three bytes each.
  std::string text = "a";
  for (int i = 0; i < 3; ++i) text += "\xE2\x82\xAC";
  EXPECT_EQ(Shortened(text, 7), "a\xE2\x82\xAC\xE2\x82\xAC... (10 bytes)");
  EXPECT_EQ(Shortened(text, 6), "a\xE2\x82\xAC... (10 bytes)");
  EXPECT_EQ(Shortened(text, 10), text);
  // Invalid UTF-8 is cut, too.
  EXPECT_EQ(Shortened(std::string(9, '\x80'), 4), "... (9 bytes)");
}

}  // namespace
}  // namespace attnrun
