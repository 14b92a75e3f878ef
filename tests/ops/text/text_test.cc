// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

using Ints = std::vector<int64_t>;
using Texts = std::vector<std::string>;
using ::testing::HasSubstr;

Tensor Vector(const Texts& texts) {
  const auto count = static_cast<int64_t>(texts.size());
  return Make<std::string>({count}, texts);
}

void ExpectResult(const OpTester& op, const Tensor& expected, int i = 0) {
  const auto results = op.Reference();
  ASSERT_TRUE(results.ok()) << results.status();
  ExpectClose((*results)[i], expected, 0);
}

std::string ErrorOf(const OpTester& op) { return std::string(op.Reference().status().message()); }

TEST(StringConcatTest, Broadcasts) {
  OpTester op("StringConcat", 20);
  op.Input(Make<std::string>({2, 1}, {"a", "b"})).Input(Vector({"", "c"}));
  ExpectResult(op, Make<std::string>({2, 2}, {"a", "ac", "b", "bc"}));
  OpTester huge("StringConcat", 20);
  huge.Input(Vector({std::string(size_t{1} << 29, 'x')}));
  huge.Input(Vector({std::string((size_t{1} << 29) + 1, 'x')}));
  EXPECT_THAT(ErrorOf(huge), HasSubstr("longer than 1073741824 bytes"));
}

struct SplitCase {
  const char* delimiter;
  int64_t most;
  Texts x;
  Texts parts;
  Ints counts;
};

TEST(StringSplitTest, CutsAtDelimiters) {
  const SplitCase cases[] = {{",", -1, {"a,b", ",c,"}, {"a", "b", "", "", "c", ""}, {2, 3}},
                             {",", 1, {"a,b,c"}, {"a", "b,c"}, {2}},
                             {",", 0, {"a,b"}, {"a,b"}, {1}},
                             {"", -1, {" a \t b ", ""}, {"a", "b", "", ""}, {2, 0}},
                             {"", 1, {" a  b c "}, {"a", "b c"}, {2}},
                             {"ab", -1, {"aabab"}, {"a", "", ""}, {3}}};
  for (const SplitCase& c : cases) {
    SCOPED_TRACE(c.x[0]);
    OpTester op("StringSplit", 20);
    op.Input(Vector(c.x)).Attribute("delimiter", std::string(c.delimiter)).Outputs(2);
    if (c.most >= 0) op.Attribute("maxsplit", c.most);
    const auto rows = static_cast<int64_t>(c.x.size());
    ExpectResult(op,
                 Make<std::string>({rows, static_cast<int64_t>(c.parts.size()) / rows}, c.parts));
    ExpectResult(op, Make<int64_t>({rows}, c.counts), 1);
  }
  OpTester empty("StringSplit", 20);
  empty.Input(Make<std::string>({2, 0}, {})).Outputs(2);
  ExpectResult(empty, Make<std::string>({2, 0, 0}, {}));
}

OpTester Normalizer(const Texts& x, Texts stop_words, const std::string& action,
                    bool case_matters) {
  OpTester op("StringNormalizer", 10);
  op.Input(Vector(x)).Attribute("stopwords", std::move(stop_words));
  op.Attribute("case_change_action", action);
  op.Attribute("is_case_sensitive", int64_t{case_matters});
  return op;
}

TEST(StringNormalizerTest, DropsStopWordsAndChangesCase) {
  ExpectResult(Normalizer({"Ä", "b", "X"}, {"x"}, "LOWER", false), Vector({"ä", "b"}));
  ExpectResult(Normalizer({"é", "b", "X"}, {"x"}, "UPPER", true), Vector({"É", "B", "X"}));
  ExpectResult(Normalizer({"x"}, {"X"}, "NONE", false), Vector({""}));
  // Bytes that are not UTF-8 stay.
  ExpectResult(Normalizer({"A\xFF\xC3"}, {}, "LOWER", false), Vector({"a\xFF\xC3"}));
  OpTester matrix("StringNormalizer", 10);
  EXPECT_THAT(ErrorOf(matrix.Input(Make<std::string>({2, 1}, {"a", "b"}))),
              HasSubstr("expected strings [C] or [1,C]"));
}

TEST(RegexFullMatchTest, MatchesWholeStrings) {
  OpTester op("RegexFullMatch", 20);
  op.Input(Vector({"ab", "abc", "aab"})).Attribute("pattern", std::string("a+b"));
  ExpectResult(op, MakeBool({3}, {1, 0, 1}));
  OpTester wrong("RegexFullMatch", 20);
  wrong.Input(Vector({"a"})).Attribute("pattern", std::string("(a"));
  EXPECT_THAT(ErrorOf(wrong), HasSubstr("expected a pattern of RE2, but '(a' is none"));
}

// The pool: 1, 2; then (1, 2), (2, 2).
OpTester Count(const std::string& mode, int64_t skipped, const Ints& row) {
  OpTester op("TfIdfVectorizer", 9);
  const auto count = static_cast<int64_t>(row.size());
  op.Input(Make<int64_t>({1, count}, row)).Attribute("mode", mode);
  op.Attribute("pool_int64s", Ints{1, 2, 1, 2, 2, 2}).Attribute("ngram_counts", Ints{0, 2});
  op.Attribute("ngram_indexes", Ints{0, 1, 3, 2}).Attribute("max_skip_count", skipped);
  op.Attribute("min_gram_length", int64_t{1}).Attribute("max_gram_length", int64_t{2});
  op.Attribute("weights", std::vector<float>{2, 3, 4, 5});
  return op;
}

TEST(TfIdfVectorizerTest, CountsGrams) {
  ExpectResult(Count("TF", 0, {1, 2, 2, 7}), Make<float>({1, 4}, {1, 2, 1, 1}));
  // With every second element, (1, 2) is there again.
  ExpectResult(Count("TF", 5, {1, 2, 2, 7}), Make<float>({1, 4}, {1, 2, 1, 2}));
  ExpectResult(Count("IDF", 5, {1, 2, 2, 7}), Make<float>({1, 4}, {2, 3, 5, 4}));
  ExpectResult(Count("TFIDF", 5, {1, 2, 2, 7}), Make<float>({1, 4}, {2, 6, 5, 8}));
  ExpectResult(Count("TF", int64_t{1} << 62, {}), Make<float>({1, 4}, {0, 0, 0, 0}));
}

TEST(TfIdfVectorizerTest, TakesStrings) {
  OpTester op("TfIdfVectorizer", 9);
  op.Input(Vector({"a", "b", "a", "?"})).Attribute("mode", std::string("TF"));
  op.Attribute("pool_strings", Texts{"b", "a"}).Attribute("ngram_counts", Ints{0});
  op.Attribute("ngram_indexes", Ints{0, 1}).Attribute("max_skip_count", int64_t{0});
  op.Attribute("min_gram_length", int64_t{1}).Attribute("max_gram_length", int64_t{1});
  ExpectResult(op, Make<float>({2}, {1, 2}));
}

TEST(TfIdfVectorizerTest, ErrorsSayWhatIsWrong) {
  EXPECT_THAT(ErrorOf(Count("TF", 0, {1}).Attribute("ngram_indexes", Ints{0, 1, 2, -1})),
              HasSubstr("expected ngram_indexes from 0 to"));
  EXPECT_THAT(ErrorOf(Count("TF", 0, {1}).Attribute("ngram_indexes", Ints{0, 1, 2})),
              HasSubstr("an index for each n-gram, but found 3"));
  EXPECT_THAT(ErrorOf(Count("TF", 0, {1}).Attribute("ngram_counts", Ints{0, 3})),
              HasSubstr("but found 3 to 6"));
  EXPECT_THAT(ErrorOf(Count("IDF", 0, {1}).Attribute("weights", std::vector<float>{1})),
              HasSubstr("expected 4 weights"));
}

}  // namespace
}  // namespace attnrun::testing
