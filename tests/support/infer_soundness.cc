// SPDX-License-Identifier: Apache-2.0
#include "support/infer_soundness.h"

#include <map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/elements.h"
#include "support/infer_tester.h"
#include "support/op_tester.h"

namespace attnrun::testing {
namespace {

enum class Knowledge { kNumbers, kSymbols, kNothing };

// A symbol that stands for the number n and that Evaluate() reads back. Negative numbers and 0 stay
// numbers, because they have a special meaning to a Reshape.
SymInt AsSymbol(const SymInt& value) {
  const int64_t number = *value.constant();
  return number <= 0 ? value : SymInt::Symbol("e" + std::to_string(number));
}

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

Known Blurred(const Known& list, Knowledge knowledge) {
  if (!list.has_value() || knowledge == Knowledge::kNothing) return std::nullopt;
  Dims result;
  for (const SymInt& element : *list) {
    result.push_back(knowledge == Knowledge::kSymbols ? AsSymbol(element) : element);
  }
  return result;
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

void Check(const SoundnessCase& test, const std::vector<Tensor>& results, Knowledge of_dims,
           Knowledge of_contents) {
  SCOPED_TRACE(::testing::Message() << "knowledge of dims " << static_cast<int>(of_dims)
                                    << ", of contents " << static_cast<int>(of_contents));
  InferNode node{test.op_type, {}, test.attributes, test.num_outputs, test.opset};
  for (const Tensor& input : test.inputs) {
    node.inputs.emplace_back();
    if (!input.defined()) continue;
    const ops::ValueFacts facts = ops::FactsOf(input);
    node.inputs.back() = {facts.type, Blurred(facts.dims, of_dims),
                          Blurred(facts.contents, of_contents)};
  }
  const bool all = of_dims == Knowledge::kNumbers && of_contents == Knowledge::kNumbers;
  const std::vector<ops::ValueFacts> told =
      InferOutputs(node, all ? test.inputs : std::vector<Tensor>());
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

void ExpectSound(const std::vector<SoundnessCase>& cases) {
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE("case " + std::to_string(i) + ", " + cases[i].op_type);
    const std::string& op_type = cases[i].op_type;
    const size_t colon = op_type.find("::");
    OpTester tester = colon == std::string::npos
                          ? OpTester(op_type, cases[i].opset)
                          : OpTester(op_type.substr(colon + 2), 1, op_type.substr(0, colon));
    for (const Tensor& input : cases[i].inputs) tester.Input(input);
    for (const auto& [name, value] : cases[i].attributes) tester.Attribute(name, value);
    const auto results = tester.Outputs(cases[i].num_outputs).Reference();
    ASSERT_TRUE(results.ok()) << results.status();
    for (const Knowledge of_dims :
         {Knowledge::kNumbers, Knowledge::kSymbols, Knowledge::kNothing}) {
      for (const Knowledge of_contents :
           {Knowledge::kNumbers, Knowledge::kSymbols, Knowledge::kNothing}) {
        Check(cases[i], *results, of_dims, of_contents);
      }
    }
  }
}

Tensor F(Ints shape) {
  std::mt19937 generator(7);
  return RandomFloats(std::move(shape), generator);
}
Tensor I(Ints elements) {
  const auto count = static_cast<int64_t>(elements.size());
  return Make<int64_t>({count}, std::move(elements));
}
Tensor I0(int64_t element) { return Make<int64_t>({}, {element}); }
Tensor Bytes(Ints shape) {
  std::mt19937 generator(7);
  return RandomInts(DataType::kUint8, std::move(shape), generator, 0, 255);
}
Tensor None() { return Tensor(); }
AttributeMap Int(const char* name, int64_t value) { return {{name, value}}; }
AttributeMap List(const char* name, Ints values) { return {{name, std::move(values)}}; }
AttributeMap Words(const char* name, const char* text) { return {{name, std::string(text)}}; }

}  // namespace attnrun::testing
