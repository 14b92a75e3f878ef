// SPDX-License-Identifier: Apache-2.0
#include "generation/json.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace attnrun::gen {
namespace {

std::string Again(absl::string_view text) {
  const absl::StatusOr<Json> json = ParseObject(text);
  return json.ok() ? ToText(*json) : std::string(json.status().message());
}

TEST(JsonTest, IsWrittenAsItWasRead) {
  for (const char* text :
       {R"({})", R"({"a":[1,-2,2.5,1e+300,"x\"\n",null,true,false,{"b":{"c":[]}}],"d":""})",
        R"({"large":18446744073709551615,"small":-9223372036854775808})"}) {
    EXPECT_EQ(Again(text), text);
  }
}

TEST(JsonTest, TheLastOfEqualFieldsCounts) {
  EXPECT_EQ(Again(R"({"a": 1, "b": 2, "a": [3]})"), R"({"a":[3],"b":2})");
}

TEST(JsonTest, MayHaveTheNumbersThatPythonAdds) {
  const Json json = ParseObject(R"({"a": [NaN, Infinity, -Infinity]})").value();
  const auto& numbers = *Field(json, "a").As<Json::Array>();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(numbers[0].is_null());
  EXPECT_EQ(numbers[1].Number(), kInfinity);
  EXPECT_EQ(numbers[2].Number(), -kInfinity);
  // JSON has no text for them.
  EXPECT_EQ(Again(R"({"a": [NaN, Infinity, -Infinity], "b": "NaN", "c\"Infinity": -1})"),
            R"({"a":[null,null,null],"b":"NaN","c\"Infinity":-1})");
}

TEST(JsonTest, RefusesWhatIsNoObject) {
  for (const char* text : {"NaN", "[1]", "1"}) {
    EXPECT_EQ(Again(text), "expected a JSON object") << text;
  }
}

TEST(JsonTest, SaysWhereTheTextIsWrong) {
  for (const char* text :
       {"", "{", "{\"a\": -NaN}", "{\"a\": NaNs}", "{\"a\"}", "{} {}", "{\"a\": 01}"}) {
    EXPECT_EQ(Again(text), "expected a JSON object, but the text is no JSON at line 1") << text;
  }
  EXPECT_EQ(Again("{\n\"a\": Infinity,\n\"b\": 1,\n}\n\n"),
            "expected a JSON object, but the text is no JSON at line 4");
}

TEST(JsonTest, NestingIsBounded) {
  const auto nested = [](int depth) {
    std::string text;
    for (int i = 1; i < depth; ++i) text += "{\"a\":";
    return text + "{}" + std::string(depth - 1, '}');
  };
  EXPECT_EQ(Again(nested(64)), nested(64));
  EXPECT_EQ(Again(nested(65)), "expected a JSON object");
  EXPECT_EQ(Again(nested(1'000'000)), "expected a JSON object");
}

TEST(JsonTest, FieldsOfOthersAreNull) {
  const Json json = ParseObject(R"({"a": {"b": 1.5}})").value();
  EXPECT_EQ(Field(Field(json, "a"), "b").Number(), 1.5);
  EXPECT_TRUE(Field(json, "b").is_null());
  EXPECT_TRUE(Field(Field(Field(json, "a"), "b"), "c").is_null());
}

}  // namespace
}  // namespace attnrun::gen
