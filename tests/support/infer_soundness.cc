// SPDX-License-Identifier: Apache-2.0
#include "support/infer_soundness.h"

#include <map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/elements.h"
#include "support/infer_tester.h"
#include "support/knowledge.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

// The number that KnownNode made a symbol of, or of such symbols a sum of products; nullopt for
// other symbols.
std::optional<int64_t> Evaluate(const SymInt& value) {
  const std::string text = value.ToString();
  if (text.find_first_of("?(") != std::string::npos) return std::nullopt;
  int64_t sum = 0;
  for (const absl::string_view term : absl::StrSplit(text, '+')) {
    int64_t product = 1;
    for (absl::string_view factor : absl::StrSplit(term, '*')) {
      absl::ConsumePrefix(&factor, "e");
      int64_t number = 0;
      EXPECT_TRUE(absl::SimpleAtoi(factor, &number)) << text;
      product *= number;
    }
    sum += product;
  }
  return sum;
}

// Compares inferred facts with a result. Remembers the values of symbols without a known value,
// because equal symbols must have equal values.
class Judge {
 public:
  void Compare(const ops::ValueFacts& told, const Tensor& result) {
    if (told.type != DataType::kUndefined) {
      EXPECT_EQ(told.type, result.type());
    }
    if (told.dims.has_value()) {
      CompareList(*told.dims, Ints(result.shape().begin(), result.shape().end()));
    }
    if (!told.contents.has_value()) return;
    EXPECT_LE(result.rank(), 1);
    CompareList(*told.contents, ToInts(result).value());
  }

 private:
  void CompareList(const std::vector<SymInt>& told, const Ints& result) {
    ASSERT_EQ(told.size(), result.size()) << Text(told);
    for (size_t i = 0; i < told.size(); ++i) {
      const auto [known, is_new] = values_.try_emplace(told[i].ToString(), result[i]);
      EXPECT_EQ(Evaluate(told[i]).value_or(known->second), result[i]) << i << " of " << Text(told);
    }
  }

  std::map<std::string, int64_t> values_;
};

void ExpectIndices(const Tensor& indices, std::optional<int64_t> extent) {
  if (!extent.has_value()) return;
  const auto elements = ToInts(indices).value();
  for (const int64_t index : elements) {
    EXPECT_GE(index, -*extent);
    EXPECT_LT(index, *extent);
  }
}

void Check(const SampleNode& test, const std::vector<Tensor>& results, Knowledge of_dims,
           Knowledge of_contents) {
  SCOPED_TRACE(::testing::Message() << "knowledge of dims " << static_cast<int>(of_dims)
                                    << ", of contents " << static_cast<int>(of_contents));
  const InferNode node = KnownNode(test, of_dims, of_contents);
  const bool all = of_dims == Knowledge::kNumbers && of_contents == Knowledge::kNumbers;
  const auto [told, required, indices] = InferAll(node, all ? test.inputs : std::vector<Tensor>());
  for (const SymInt& number : required) {
    EXPECT_GE(Evaluate(number).value_or(0), 0) << number.ToString() << " is required";
  }
  for (const auto& [i, extent] : indices) ExpectIndices(test.inputs[i], Evaluate(extent));
  Judge judge;
  for (int i = 0; i < test.num_outputs; ++i) {
    judge.Compare(told[i], results[i]);
    if (!all || test.open) continue;
    ASSERT_TRUE(told[i].dims.has_value());
    for (const SymInt& extent : *told[i].dims) EXPECT_TRUE(extent.constant().has_value());
    EXPECT_EQ(told[i].type, results[i].type());
  }
}

}  // namespace

void ExpectSound(const std::vector<SampleNode>& cases) {
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE("case " + std::to_string(i) + ", " + cases[i].op_type);
    const auto results = TesterOf(cases[i]).Reference();
    ASSERT_TRUE(results.ok()) << results.status();
    for (const Knowledge of_dims : kKnowledge) {
      for (const Knowledge of_contents : kKnowledge) {
        Check(cases[i], *results, of_dims, of_contents);
      }
    }
  }
}

}  // namespace attnrun::testing
